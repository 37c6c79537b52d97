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

// The exact bytes that threads and the process have requested.

namespace {

geiger_status status_of(capture::Counted counted) {
  switch (counted) {
    case capture::Counted::kYes:
      return GEIGER_OK;
    case capture::Counted::kInterrupted:
      return GEIGER_BUSY;
    case capture::Counted::kNotRecording:
      break;
  }
  return GEIGER_NOT_RECORDING;
}

}  // namespace

}  // namespace geiger::api

using namespace geiger::api;  // NOLINT: the C names below live outside.

geiger_status geiger_get_thread_allocated_bytes(uint64_t* bytes) {
  if (bytes == nullptr) return GEIGER_BAD_ARGUMENT;
  *bytes = 0;
  const geiger::capture::Interface* capture = connection();
  return capture == nullptr ? GEIGER_NOT_AVAILABLE : status_of(capture->bytes_of_thread(*bytes));
}

geiger_status geiger_get_process_allocated_bytes(uint64_t* bytes, uint64_t* missing) {
  if (bytes == nullptr || missing == nullptr) return GEIGER_BAD_ARGUMENT;
  *bytes = *missing = 0;
  const geiger::capture::Interface* capture = connection();
  if (capture == nullptr) return GEIGER_NOT_AVAILABLE;
  geiger::capture::ProcessBytes found{};
  const geiger_status status = status_of(capture->bytes_of_process(found));
  *bytes = found.bytes;
  *missing = found.missing;
  return status;
}
