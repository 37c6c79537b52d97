// The macros of every room: what compilers are told of a function, and checks of what must hold
// inside geiger.
#pragma once

#include <atomic>

#if !defined(GEIGER_IN_RUNTIME)
#include <stdexcept>
#include <string>
#endif

// The whole macro vocabulary besides checks.
//
// GEIGER_FAST_PATH: inlined into every caller, makes no calls, never allocates.
// GEIGER_SLOW_PATH: kept out of line and away from hot code.
#define GEIGER_FAST_PATH [[gnu::always_inline]] inline
#define GEIGER_SLOW_PATH [[gnu::noinline, gnu::cold]]

namespace geiger::base {

// Checks of what must hold inside geiger; what input may cause is handled as a value instead.
//
//   GEIGER_CHECK(condition)   always compiled; true if the condition holds. Else, in the runtime,
//                             recording stops for this reason, the result is false and the caller
//                             gives up what it was about: the host is never harmed. Elsewhere
//                             InternalError is thrown, which main reports in a line. WebAssembly,
//                             which is compiled without exceptions, traps.
//   GEIGER_ASSERT(condition)  in debug builds and with -DGEIGER_ASSERTIONS=ON: says where and
//                             aborts. In other builds it is not evaluated.
//
// Invariants that take a walk over whole tables are checked by builds with
// GEIGER_EXPENSIVE_ASSERTIONS (runtime/capture/invariants.h).
//
// Threads / Signals: safe. Allocates: only InternalError.

/// Stops what the runtime records; null until it does. Returns.
using FailedCheck = void (*)(const char* file, int line);
[[gnu::visibility("hidden")]] extern constinit std::atomic<FailedCheck> on_failed_check;

/// Tells on_failed_check. Always false.
[[gnu::cold]] bool fail_check(const char* file, int line);

/// Writes the place and the text to standard error and aborts.
[[noreturn, gnu::cold]] void fail_assertion(const char* file, int line, const char* text);

#if !defined(GEIGER_IN_RUNTIME)
/// A mistake of geiger's own.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};
[[noreturn, gnu::cold]] inline bool throw_internal_error(const char* file, int line,
                                                         const char* condition) {
#if defined(__cpp_exceptions)
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + condition);
#else
  static_cast<void>(file), static_cast<void>(line), static_cast<void>(condition);
  __builtin_trap();
#endif
}
#endif

}  // namespace geiger::base

#if defined(GEIGER_IN_RUNTIME)
#define GEIGER_CHECK(condition) \
  (__builtin_expect(!!(condition), 1) || geiger::base::fail_check(__FILE__, __LINE__))
#else
#define GEIGER_CHECK(condition)          \
  (__builtin_expect(!!(condition), 1) || \
   geiger::base::throw_internal_error(__FILE__, __LINE__, #condition))
#endif

#if defined(GEIGER_ASSERTIONS)
#define GEIGER_ASSERT(condition)      \
  (__builtin_expect(!!(condition), 1) \
       ? void(0)                      \
       : geiger::base::fail_assertion(__FILE__, __LINE__, "assertion failed: " #condition))
#else
#define GEIGER_ASSERT(condition) static_cast<void>(sizeof(!(condition)))
#endif
