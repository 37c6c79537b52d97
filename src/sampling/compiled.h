// How this library compiles the public headers' functions: once, as symbols.
#pragma once

#define GEIGER_SAMPLING_INLINE
#if defined(GEIGER_ASSERTIONS)  // No symbol: this library must not need any.
#define GEIGER_SAMPLING_ASSERT(condition) ((condition) ? void(0) : __builtin_trap())
#endif
