// The public headers' functions as objects of this library.
#include "sampling/compiled.h"

#include "geiger/sampling/counter_sampler.inl"
#include "geiger/sampling/logarithm.inl"
#include "geiger/sampling/skip_count.inl"
