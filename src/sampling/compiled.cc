// The public headers' functions as objects of this library.
#define GEIGER_SAMPLING_INLINE
#if defined(GEIGER_ASSERTIONS)  // Without a symbol: this library needs none.
#define GEIGER_SAMPLING_ASSERT(condition) ((condition) ? void(0) : __builtin_trap())
#endif
#include "geiger/sampling/counter_sampler.inl"
#include "geiger/sampling/logarithm.inl"
#include "geiger/sampling/skip_count.inl"
