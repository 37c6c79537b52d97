#include "runtime/capture/sample/write.h"

#include <sched.h>

#include <algorithm>

#include "base/clock.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/program/names.h"
#include "runtime/capture/sample/events.h"
#include "runtime/capture/sample/live_samples.h"
#include "runtime/capture/sample/tally.h"
#include "runtime/capture/thread/thread_state.h"
#include "trace/append.h"

namespace geiger::capture {
namespace {

std::uint16_t current_cpu() {
  const int cpu = sched_getcpu();
  return cpu < 0 || cpu >= trace::kUnknownCpu ? trace::kUnknownCpu
                                              : static_cast<std::uint16_t>(cpu);
}

unsigned log2_of(std::size_t alignment) {
  return alignment <= 1 ? 0 : static_cast<unsigned>(__builtin_ctzll(alignment));
}

Bytes clamped(Bytes size) { return std::min(size, trace::SampleRecord::kSizeMask); }

/// The names in force, as records of this trace, which precede the sample.
struct NameRefs {
  trace::Ref label;
  trace::Ref type;
};
NameRefs names_in_force(Segment& segment) {
  if ((tls.naming.label | tls.naming.type) == 0) [[likely]]
    return {};
  return {ref_of_name(segment, tls.naming.label), ref_of_name(segment, tls.naming.type)};
}

trace::SampleRecord sample_of(Segment& segment, const Decision& decision,
                              const Allocation& allocation, const Seen& seen) {
  const NameRefs names = names_in_force(segment);
  const bool is_here = decision.segment == segment.number.load(std::memory_order_relaxed);
  return {.header = 0,
          .time = seen.time,
          .stack = seen.stack,
          .epoch = is_here ? decision.epoch : epoch_of_interval(segment, decision.interval),
          .address = reinterpret_cast<std::uint64_t>(allocation.address),
          .requested_kind = clamped(allocation.requested) |
                            std::uint64_t{static_cast<std::uint8_t>(allocation.entry_point)} << 48 |
                            std::uint64_t{log2_of(allocation.alignment)} << 56,
          .usable_heap = clamped(allocation.usable) | std::uint64_t{allocation.heap} << 48,
          .offset = decision.offset,
          .label = names.label,
          .type = names.type};
}

std::uint8_t flags_of(const Decision& decision) {
  return decision.is_certain ? trace::kFlagCertain : std::uint8_t{0};
}

///
Written write_record(Segment& segment, const Decision& decision, const Allocation& allocation,
                     const Seen& seen) {
  const trace::Heading heading{
      .thread = decision.state->index, .flags = flags_of(decision), .cpu = current_cpu()};
  const trace::SampleRecord sample = sample_of(segment, decision, allocation, seen);
  const auto written = trace::append<trace::SampleRecord>(
      segment.writer, heading,
      [&](trace::SampleRecord& record) { trace::copy_body(record, sample); });
  if (!written) return {};
  tell_sampled(segment, *decision.state, written.ref, *written.record);
  return {live_value(segment, written.ref), is_tracked(chance_at(segment, sample))};
}

/// Counts the sample in a tally.
Written count_sample(Segment& segment, const Decision& decision, const Allocation& allocation,
                     const Seen& seen, const void* key) {
  const bool tracks = is_tracked(chance_of_address(reinterpret_cast<std::uint64_t>(key)));
  const auto untracked = tracks ? std::uint8_t{0} : trace::kFlagUntracked;
  const trace::Ref counted = tally(segment, sample_of(segment, decision, allocation, seen),
                                   static_cast<std::uint8_t>(flags_of(decision) | untracked));
  if (counted == 0) return {};
  return {live_value(segment, counted), tracks};
}

}  // namespace

Written write_sample(Segment& segment, const Decision& decision, const Allocation& allocation,
                     const Seen& seen, const void* key) {
  const Written written = is_aggregated() ? count_sample(segment, decision, allocation, seen, key)
                                          : write_record(segment, decision, allocation, seen);
  if (written.value == 0) segment.writer.count_drop(trace::DropCause::kTraceFull);
  return written;
}

void write_free(Segment& segment, ThreadState* state, std::uint64_t taken, trace::Ref stack,
                std::uint8_t flags) {
  if (!is_of(segment, taken)) return;  // The parent's sample, or of an older segment.
  const auto sample = static_cast<trace::Ref>(taken);
  if (is_aggregated()) return tally_free(segment, sample);
  const trace::Heading heading{
      .thread = state == nullptr ? 0 : state->index, .flags = flags, .cpu = current_cpu()};
  const auto written =
      trace::append<trace::FreeRecord>(segment.writer, heading, [&](trace::FreeRecord& record) {
        record.time = base::monotonic_now();
        record.sample = sample;
        record.stack = stack;
      });
  if (!written) return segment.writer.count_drop(trace::DropCause::kTraceFull);
  image.intervals.governor.spend(Governor::kFreeCost);
  tell_freed(segment, state, sample, *written.record);
}

bool wants_new_stacks(const Segment& segment) { return !is_aggregated() || tells_apart(segment); }

bool outlasts_thinning(const Segment& segment, std::uint64_t key, trace::Ref sample) {
  return is_tracked(is_aggregated() ? chance_of_address(key)
                                    : chance_at(segment, sample_at(segment, sample)));
}

void write_untracked(Segment& segment, trace::Ref sample) {
  if (is_aggregated()) stop_tracking(segment, sample);
}

}  // namespace geiger::capture
