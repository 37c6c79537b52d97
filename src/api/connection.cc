#include "api/connection.h"

#include <cstring>

#pragma weak geiger_capture_v1

/// If the capture finds this symbol and no directory is set, it records in memory.
extern "C" {
// NOLINTBEGIN(readability-identifier-naming): a C name.
[[gnu::visibility("default")]] extern const char geiger_api_version[];
const char geiger_api_version[] = GEIGER_VERSION;
// NOLINTEND(readability-identifier-naming)
}

namespace geiger::api {

constinit thread_local ThreadLocal tls{};

constinit std::atomic<const capture::Interface*> found_capture{nullptr};

const capture::Interface* connection_slow() {
  const capture::Interface* found = &geiger_capture_v1;
  if (found == nullptr || std::strcmp(found->version, GEIGER_VERSION) != 0) return nullptr;
  found_capture.store(found, std::memory_order_relaxed);
  return found;
}

capture::Naming& naming_slow() {
  const capture::Interface* capture = connection();
  tls.naming = capture != nullptr ? capture->naming() : &tls.unused;
  return *tls.naming;
}

geiger_status recorder(capture::Status& status) {
  const capture::Interface* capture = connection();
  if (capture == nullptr) return GEIGER_NOT_AVAILABLE;
  status = capture->status();
  return status.header != nullptr && status.is_recording ? GEIGER_OK : GEIGER_NOT_RECORDING;
}

}  // namespace geiger::api
