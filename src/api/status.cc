#include <cstdlib>
#include <cstring>

#include "api/connection.h"
#include "api/listeners.h"
#include "api/session.h"

namespace geiger::api {
namespace {

/// Whether an allocation changes the capture's counter: then malloc is interposed.
bool is_interposed(const capture::Interface& capture) {
  static const bool answer = [&capture] {
    const volatile std::uint64_t* counter = &capture.thread()->countdown;
    void* (*volatile allocate)(std::size_t) = std::malloc;
    const std::uint64_t before = *counter;
    void* block = allocate(1);
    const bool has_moved = *counter != before;
    std::free(block);
    return has_moved;
  }();
  return answer;
}

std::uint64_t drops_of(const trace::FileHeader& header) {
  std::uint64_t drops = 0;
  for (const auto& count : header.drops) drops += count.load(std::memory_order_relaxed);
  return drops;
}

void describe(const capture::Status& status, geiger_recorder& out) {
  out.is_recording = status.is_recording;
  out.is_paused = status.is_paused;
  out.is_in_memory = status.is_in_memory;
  if (status.header == nullptr) return;
  out.stop_reason = static_cast<int>(status.stop_reason);
  out.stop_errno = status.stop_errno;
  out.interval = status.interval;
  out.live_samples = status.live_samples;
  out.trace_capacity = status.header->capacity;
  const Bytes tail = status.header->tail.load(std::memory_order_relaxed);
  out.trace_bytes = tail < out.trace_capacity ? tail : out.trace_capacity;
  out.dropped = drops_of(*status.header);
}

/// A listener may call this too; then fields protected by the gate are omitted.
void describe_session(geiger_recorder& out) {
  const Gate gate;
  if (gate.status() != GEIGER_OK) return;
  out.open_tokens = static_cast<std::uint32_t>(session().tokens.size());
  out.own_interval = session().demand.own();
}

const char* message_of(geiger_status status) {
  switch (status) {
    case GEIGER_OK:
      return "no error";
    case GEIGER_NOT_AVAILABLE:
      return "geiger is not loaded in this process, or in another version";
    case GEIGER_NOT_RECORDING:
      return "nothing is recorded: geiger_get_status() reports is_paused, stop_reason and "
             "stop_errno";
    case GEIGER_BAD_ARGUMENT:
      return "an argument is null, empty, too long or out of range";
    case GEIGER_BAD_INTERVAL:
      return "a sampling interval must be 1 byte to 1 TiB";
    case GEIGER_BAD_LEVEL:
      return "a confidence level must lie between 0 and 1";
    case GEIGER_BAD_HANDLE:
      return "no such token, profile, label or listener";
    case GEIGER_WRONG_HEAP:
      return "no heap has this number";
    case GEIGER_WRONG_NESTING:
      return "scopes entered within this one had not been left";
    case GEIGER_NOT_ENTERED:
      return "the scope was not entered, or was left before";
    case GEIGER_WRONG_THREAD:
      return "the scope was entered by another thread";
    case GEIGER_OTHER_PROCESS:
      return "the handle belongs to the process that this one was forked from";
    case GEIGER_ALREADY_STOPPED:
      return "stopped, freed or removed before";
    case GEIGER_IN_LISTENER:
      return "not allowed in a listener";
    case GEIGER_BUSY:
      return "a call or an allocation of this thread was interrupted by this one";
    case GEIGER_LIMIT:
      return "a limit is reached: names, nesting, heaps or listeners";
    case GEIGER_NO_MEMORY:
      return "out of memory";
    case GEIGER_FAILED_IO:
      return "writing failed";
    case GEIGER_THREW:
      return "a function of the caller threw an exception";
    case GEIGER_OVERWRITTEN:
      return "the trace no longer reaches back to where the token was started";
  }
  return "unknown status";
}

}  // namespace
}  // namespace geiger::api

using namespace geiger::api;  // NOLINT: the C names below live outside.

const char* geiger_status_message(geiger_status status) { return message_of(status); }

const char* geiger_get_version(void) { return GEIGER_VERSION; }

geiger_status geiger_get_status(geiger_recorder* recorder) {
  if (recorder == nullptr) return GEIGER_BAD_ARGUMENT;
  *recorder = {};
  const geiger::capture::Interface* capture = connection();
  if (capture == nullptr) return GEIGER_NOT_AVAILABLE;
  return guarded([&] {
    recorder->is_interposed = is_interposed(*capture);
    describe(capture->status(), *recorder);
    describe_session(*recorder);
    describe_listeners(*recorder);
    return GEIGER_OK;
  });
}

geiger_status geiger_start_recording(void) {
  return guarded_by_gate([] {
    geiger::capture::Status status{};
    const geiger_status recording = recorder(status);
    if (recording != GEIGER_OK) return recording;
    session().demand.add_user();
    ++session().recordings;
    return GEIGER_OK;
  });
}

geiger_status geiger_stop_recording(void) {
  if (connection() == nullptr) return GEIGER_NOT_AVAILABLE;
  return guarded_by_gate([] {
    Session& now = session();
    if (now.recordings == 0) return GEIGER_ALREADY_STOPPED;
    --now.recordings;
    now.demand.remove_user();
    return GEIGER_OK;
  });
}

geiger_status geiger_set_sampling_interval(uint64_t bytes) {
  if (bytes == 0 || bytes > GEIGER_MAX_INTERVAL) return GEIGER_BAD_INTERVAL;
  return guarded_by_gate([bytes] {
    geiger::capture::Status status{};
    const geiger_status recording = recorder(status);
    return recording == GEIGER_OK ? session().demand.set_own(bytes) : recording;
  });
}

geiger_status geiger_record_free_stacks(int is_wanted) {
  return guarded_by_gate([is_wanted] {
    geiger::capture::Status status{};
    const geiger_status recording = recorder(status);
    if (recording != GEIGER_OK) return recording;
    const bool is_recorded = (status.header->mode & geiger::trace::kModeFreeStacks) != 0;
    // For a file this was decided at its start, and is in its header.
    if (!status.is_in_memory)
      return (is_wanted != 0) == is_recorded ? GEIGER_OK : GEIGER_BAD_ARGUMENT;
    connection()->record_free_stacks(is_wanted != 0);
    return GEIGER_OK;
  });
}

geiger_status geiger_get_sampling_interval(uint64_t* bytes) {
  if (bytes == nullptr) return GEIGER_BAD_ARGUMENT;
  *bytes = 0;
  return guarded_by_gate([bytes] {
    geiger::capture::Status status{};
    const geiger_status recording = recorder(status);
    if (recording == GEIGER_OK) *bytes = session().demand.own();
    return recording;
  });
}

geiger_status geiger_write_mark(const char* name) {
  const std::size_t size = name == nullptr ? 0 : strnlen(name, GEIGER_MAX_TEXT + 1);
  if (size == 0 || size > GEIGER_MAX_TEXT) return GEIGER_BAD_ARGUMENT;
  geiger::capture::Status status{};
  const geiger_status recording = recorder(status);
  if (recording != GEIGER_OK) return recording;
  return connection()->write_mark(name, size) ? GEIGER_OK : GEIGER_NOT_RECORDING;
}
