#include "api/mapped_trace.h"

#include <time.h>

#include <algorithm>

namespace geiger::api {
namespace {

std::uint64_t word_at(const char* place) {
  auto* word = reinterpret_cast<std::uint64_t*>(const_cast<char*>(place));
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}

}  // namespace

MappedTrace mapped_trace(const capture::TraceView& view) {
  MappedTrace trace;
  trace.base = view.base;
  trace.header = view.header;
  trace.image = view.number;
  const Bytes tail = view.header->tail.load(std::memory_order_acquire);
  trace.end = std::min({tail, view.bytes, view.header->capacity});
  return trace;
}

HeldTrace::~HeldTrace() {
  if (trace_.image != 0) connection()->release_trace(trace_.image);
}

geiger_status HeldTrace::hold_current() {
  capture::Status status{};
  const geiger_status recording = recorder(status);
  if (status.header == nullptr) return recording;
  if ((status.header->mode & trace::kModeAggregated) != 0) return GEIGER_NOT_RECORDING;
  geiger_status held = hold(status.image);
  // The recording moved to the next trace meanwhile: try the new current one.
  while (held == GEIGER_OVERWRITTEN) {
    status = connection()->status();
    held = hold(status.image);
  }
  return held;
}

geiger_status HeldTrace::hold(std::uint32_t number) {
  const capture::Interface* capture = connection();
  if (capture == nullptr) return GEIGER_NOT_AVAILABLE;
  const capture::Status status = capture->status();
  if (status.header == nullptr || number < status.first_image) return GEIGER_OTHER_PROCESS;
  capture::TraceView view{};
  if (!capture->hold_trace(number, view)) return GEIGER_OVERWRITTEN;
  trace_ = mapped_trace(view);
  first_image_ = status.first_image;
  return GEIGER_OK;
}

geiger_status position_now(Position& position) {
  HeldTrace held;
  const geiger_status status = held.hold_current();
  if (status == GEIGER_OK) position = {held->image, held->end};
  return status;
}

bool Patience::wait() {
  if (moments_ == 0) return false;
  --moments_;
  constexpr timespec kMoment{0, 100'000};
  nanosleep(&kMoment, nullptr);
  return true;
}

bool MappedWindow::is_zero(std::uint64_t offset, std::uint64_t bytes) const {
  const char* const first = base + offset;
  for (std::uint64_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    if (word_at(first + at) != 0) return false;
  }
  return true;
}

}  // namespace geiger::api
