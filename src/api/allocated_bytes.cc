// The exact bytes that threads and the process have requested.
#include "api/connection.h"

namespace geiger::api {
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
