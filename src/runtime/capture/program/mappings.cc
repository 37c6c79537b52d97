#include "runtime/capture/program/mappings.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/clock.h"
#include "runtime/capture/capture.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/sample/record_stack.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/thread_state.h"
#include "runtime/probes/probes.h"
#include "runtime/unwind/modules.h"
#include "trace/writer.h"

namespace geiger::capture {
namespace {

using trace::MappingKind;
using trace::MappingRecord;

constexpr std::size_t kMostLeftOut = 16;
constinit unwind::AddressRange left_out[kMostLeftOut]{};
constinit std::atomic<std::size_t> left_out_count{0};

bool is_left_out(std::uint64_t ip) {
  const std::size_t count = left_out_count.load(std::memory_order_acquire);
  return std::any_of(left_out, left_out + count, [ip](const unwind::AddressRange& range) {
    return ip - range.start < range.end - range.start;
  });
}

/// If the image starts here, earlier allocations are not part of it: its first allocation must not
/// settle them.
bool start_to_map() {
  const Readiness readiness = start_if_due();
  ThreadState* state = own_state();
  if (readiness == Readiness::kJustStarted && state != nullptr &&
      state->armed.load(std::memory_order_relaxed) != kTaken) {
    state->armed.store(0, std::memory_order_relaxed);
    exchange_countdown(0);
  }
  return readiness != Readiness::kNotRecording;
}

/// Whether to record. A call that takes memory may begin the image; a call that releases memory may
/// not.
bool begin_if_wanted(MappingKind kind, const unwind::Registers& caller) {
  if (is_left_out(caller.ip)) return false;
  const bool takes = kind == MappingKind::kMap || kind == MappingKind::kBreak;
  return (takes ? start_to_map() : is_recording()) && image.settings.records_mappings &&
         !is_paused();
}

/// Completes and writes `record`, with the current time if it has none.
GEIGER_SLOW_PATH void write(MappingRecord record, const unwind::Registers& caller) {
  if (!begin_if_wanted(record.kind, caller)) return;
  ThreadState* state = known_state();
  if (state == nullptr) return;
  const PinnedSegment segment(*state);
  if (!enrol(*state, *segment)) return;
  if (record.time == 0) record.time = base::monotonic_now();
  // CPython may unmap a chunk of its stack that still contains its current frame.
  record.stack = record.kind == MappingKind::kUnmap ? record_native_stack(*segment, *state, caller)
                                                    : record_stack(*segment, *state, caller);
  const auto written =
      trace::append<MappingRecord>(segment->writer, {.thread = state->index},
                                   [&](MappingRecord& to) { trace::copy_body(to, record); });
  if (!written) return segment->writer.count_drop(trace::DropCause::kTraceFull);
  image.intervals.governor.spend(Governor::kMappingCost);
  if (probes::wants_mappings()) [[unlikely]]
    probes::fire_mapping(record);
}

MappingRecord record_of(MappingKind kind, const void* address, Bytes bytes) {
  MappingRecord record{};
  record.kind = kind;
  record.address = reinterpret_cast<std::uint64_t>(address);
  record.bytes = bytes;
  return record;
}

}  // namespace

void leave_out(const unwind::AddressRange& callers) {
  const std::size_t count = left_out_count.load(std::memory_order_relaxed);
  if (callers.start == callers.end || count == kMostLeftOut) return;
  left_out[count] = callers;
  left_out_count.store(count + 1, std::memory_order_release);
}

void leave_out(const void* module) { leave_out(unwind::range_of(module)); }

Nanoseconds mapping_time() { return base::monotonic_now(); }

void record_map(const void* address, Bytes bytes, int protection, int flags,
                const unwind::Registers& caller) {
  MappingRecord record = record_of(MappingKind::kMap, address, bytes);
  record.protection = static_cast<std::uint32_t>(protection);
  record.flags = static_cast<std::uint32_t>(flags);
  write(record, caller);
}

void record_unmap(const void* address, Bytes bytes, Nanoseconds begun,
                  const unwind::Registers& caller) {
  MappingRecord record = record_of(MappingKind::kUnmap, address, bytes);
  record.time = begun;
  write(record, caller);
}

void record_remap(const Remapping& remapping, Nanoseconds begun, const unwind::Registers& caller) {
  constexpr Nanoseconds kLongest = std::numeric_limits<std::uint32_t>::max();
  MappingRecord record = record_of(MappingKind::kRemap, remapping.address, remapping.bytes);
  record.old_address = reinterpret_cast<std::uint64_t>(remapping.old_address);
  record.old_bytes = remapping.old_bytes;
  record.flags = static_cast<std::uint32_t>(remapping.flags);
  record.time = base::monotonic_now();
  record.protection = static_cast<std::uint32_t>(std::min(record.time - begun, kLongest));
  write(record, caller);
}

void record_protect(const void* address, Bytes bytes, int protection,
                    const unwind::Registers& caller) {
  MappingRecord record = record_of(MappingKind::kProtect, address, bytes);
  record.protection = static_cast<std::uint32_t>(protection);
  write(record, caller);
}

void record_break(const void* old_end, const void* end, const unwind::Registers& caller) {
  MappingRecord record = record_of(MappingKind::kBreak, end, 0);
  record.old_address = reinterpret_cast<std::uint64_t>(old_end);
  write(record, caller);
}

}  // namespace geiger::capture
