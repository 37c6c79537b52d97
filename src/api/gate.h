// The API's only lock, for everything that is not done per sample: tokens, profiles, settings,
// definitions.
//
// It is refused, never waited for, where waiting could not end: in a listener, which
// may have been called by an allocation under the lock, and in a signal handler that
// interrupted its own thread under it.
//
// Fork: held over it by the thread that forks, so the child finds everything whole.
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

  /// GEIGER_OK, or why it was refused: GEIGER_IN_LISTENER, GEIGER_BUSY.
  [[nodiscard]] geiger_status status() const { return status_; }

 private:
  geiger_status status_ = GEIGER_IN_LISTENER;
};

/// Whether what is being caught is no exception but a thread's end (pthread_cancel,
/// pthread_exit), which must not be stopped: it has no type.
inline bool ends_thread() { return abi::__cxa_current_exception_type() == nullptr; }

/// Runs `call` so that no exception leaves it but a thread's end.
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

/// As guarded(), under the lock.
template <typename Call>
geiger_status guarded_by_gate(const Call& call) {
  return guarded([&] {
    const Gate gate;
    return gate.status() != GEIGER_OK ? gate.status() : call();
  });
}

}  // namespace geiger::api
