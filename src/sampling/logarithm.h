// The room's face of a public header: what is in src names rooms.
#pragma once

#include "geiger/sampling/logarithm.h"
