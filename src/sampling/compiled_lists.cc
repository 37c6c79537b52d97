// The list sampler in its own object, so that libraries that need only the counter sampler, such as
// the runtime, do not link it. The order of the includes matters.
// clang-format off
#include "sampling/compiled.h"

#include "geiger/sampling/list_sampler.inl"
// clang-format on
