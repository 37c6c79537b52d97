// Forwards to the public headers, so that code in src includes them by the name of their room.
#pragma once

#include "geiger/sampling/counter_sampler.h"
#include "geiger/sampling/list_sampler.h"
#include "geiger/sampling/logarithm.h"
#include "geiger/sampling/prng.h"

// Forwards to a public header, so that code in src includes it by the name of its room.

// Forwards to a public header, so that code in src includes it by the name of its room.

// Forwards to a public header, so that code in src includes it by the name of its room.

// Forwards to a public header, so that code in src includes it by the name of its room.
