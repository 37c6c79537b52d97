// Connects the API to the capture, and holds the API's state of each thread.
//
// Threads / Signals / Fork: safe; nothing here waits or allocates.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "geiger/geiger.h"
#include "runtime/capture/interface.h"

namespace geiger::api {

struct ThreadHeaps;

/// Initial-exec and plain: valid in every phase of a thread.
struct ThreadLocal {
  capture::Naming* naming;    ///< Null until the thread's first call.
  ThreadHeaps* heaps;         ///< Null until the thread reports to a heap.
  std::uint32_t label_depth;  ///< Scopes entered and not left.
  std::uint32_t type_depth;
  const void* listener;    ///< The listener being called; null outside of listeners.
  bool is_reporting;       ///< In the slow path of a report: another report is an interruption.
  bool has_ended;          ///< The thread's heaps were given back.
  bool is_at_gate;         ///< The thread holds, takes or releases the API's lock.
  capture::Naming unused;  ///< In force without a capture.
};
static_assert(sizeof(ThreadLocal) <= 64);

[[gnu::tls_model("initial-exec")]] extern constinit thread_local ThreadLocal tls;

/// Null until the first call finds it.
extern constinit std::atomic<const capture::Interface*> found_capture;
[[nodiscard]] const capture::Interface* connection_slow();
/// The capture of this process; null without one of this version.
[[nodiscard]] inline const capture::Interface* connection() {
  const capture::Interface* found = found_capture.load(std::memory_order_relaxed);
  return found != nullptr ? found : connection_slow();
}

[[nodiscard]] capture::Naming& naming_slow();
/// The calling thread's names in force.
GEIGER_FAST_PATH capture::Naming& naming() {
  return tls.naming != nullptr ? *tls.naming : naming_slow();
}

/// Gets the state of the capture. GEIGER_OK if samples can be taken; then the connection is not
/// null and the status has a header.
[[nodiscard]] geiger_status recorder(capture::Status& status);

}  // namespace geiger::api
