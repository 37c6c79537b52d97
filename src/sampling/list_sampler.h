// Forwards to a public header, so that code in src includes it by the name of its room.
#pragma once

#include "geiger/sampling/list_sampler.h"
