#include "runtime/api/live_trace.h"

#include <time.h>

#include <algorithm>

namespace geiger::api {
namespace {

std::uint64_t word_at(const char* place) {
  auto* word = reinterpret_cast<std::uint64_t*>(const_cast<char*>(place));
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}

bool is_committed(std::uint64_t word) {
  return word != 0 && (trace::RecordHeader::unpack(word).flags & trace::kReserved) == 0;
}

}  // namespace

geiger_status live_trace(LiveTrace& trace) {
  capture::Status status{};
  const geiger_status recording = recorder(status);
  if (status.header == nullptr) return recording;
  if ((status.header->mode & trace::kModeAggregated) != 0) return GEIGER_NOT_RECORDING;
  Bytes mapped = 0;
  for (std::uint32_t seen = 0; seen != status.image;) {
    // At the first call ever it may be on its way into its next trace.
    trace.base = connection()->trace_base(mapped);
    seen = status.image;
    status = connection()->status();
  }
  const Bytes tail = status.header->tail.load(std::memory_order_acquire);
  trace.end = std::min({tail, mapped, status.header->capacity});
  trace.header = status.header;
  trace.image = status.image;
  return GEIGER_OK;
}

bool Patience::wait() {
  if (moments_ == 0) return false;
  --moments_;
  constexpr timespec kMoment{0, 100'000};
  nanosleep(&kMoment, nullptr);
  return true;
}

std::uint64_t await_header(const char* record, Patience& patience) {
  std::uint64_t word = word_at(record);
  while (!is_committed(word) && patience.wait()) word = word_at(record);
  return word;
}

Bytes end_of_hole(const char* base, Bytes begin, Bytes end) {
  Bytes at = begin;
  while (at < end && word_at(base + at) == 0) at += 8;
  // Its writer may have gone on meanwhile, and what stands at `at` is inside its record.
  return word_at(base + begin) == 0 ? std::max(at, begin + 8) : begin;
}

}  // namespace geiger::api
