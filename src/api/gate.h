// The API's only lock, for everything except per-sample work: tokens, profiles, settings,
// definitions.
//
// It is refused, not waited for, where waiting could deadlock: in a listener, which an allocation
// under the lock may have called, and in a signal handler that interrupted its own thread under it.
//
// Fork: the forking thread holds it, so the child finds everything consistent.
#pragma once

#include <cxxabi.h>

#include <new>

#include "geiger/geiger.h"

namespace geiger::api {

class Gate {
 public:
  Gate();
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// GEIGER_OK, or the reason of the refusal: GEIGER_IN_LISTENER, GEIGER_BUSY.
  [[nodiscard]] geiger_status status() const { return status_; }

 private:
  geiger_status status_ = GEIGER_IN_LISTENER;
};

/// Whether the current "exception" is a thread's end (pthread_cancel, pthread_exit), which must not
/// be stopped. It has no type.
inline bool ends_thread() { return abi::__cxa_current_exception_type() == nullptr; }

/// Runs `call` and converts exceptions to status codes, except a thread's end.
template <typename Call>
geiger_status guarded(const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return GEIGER_NO_MEMORY;
  } catch (...) {
    if (ends_thread()) throw;
    return GEIGER_THREW;
  }
}

/// Like guarded(), under the lock.
template <typename Call>
geiger_status guarded_by_gate(const Call& call) {
  return guarded([&] {
    const Gate gate;
    return gate.status() != GEIGER_OK ? gate.status() : call();
  });
}

}  // namespace geiger::api
