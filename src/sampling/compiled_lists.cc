// The list sampler as an object of its own: what links only the counter sampler, such as the
// runtime, does not get it. The order of the includes is needed.
// clang-format off
#include "sampling/compiled.h"

#include "geiger/sampling/list_sampler.inl"
// clang-format on
