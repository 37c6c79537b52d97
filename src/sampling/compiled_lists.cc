// The list sampler in an object of its own, so that libraries that need only the counter sampler,
// such as the runtime, do not link it. The order of the includes is needed.
// clang-format off
#include "sampling/compiled.h"

#include "geiger/sampling/list_sampler.inl"
// clang-format on
