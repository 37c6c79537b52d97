// Aggregated recording: counts samples that are alike instead of recording each, so that the trace
// grows with the program's kinds of allocation, not with time.
//
//   sample:  TallyRecord of (stack, epoch, size, usable size, ...)  -> allocated + 1
//            live table: address -> the tally
//   free:    freed + 1
//
// When a trace is nearly full, new kinds are counted without their stack, by sizes rounded to 32
// per octave: at most a few thousand tallies, for which there is always room.
//
// Threads / Signals: lock-free; two threads that see the same kind first may both write a tally,
// and readers add them. Fork: the child's trace has its own. Allocates: pages from the kernel when
// its table grows.
#include "runtime/capture/sample/write.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/clock.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/image/segment.h"
#include "runtime/capture/program/names.h"
#include "runtime/capture/sample/events.h"
#include "runtime/capture/sample/live_samples.h"
#include "runtime/capture/thread/thread_state.h"
#include "trace/format.h"
#include "trace/writer.h"

namespace geiger::capture {

/// Counts a sample, by the fields that samples can share, and returns its tally. 0: no room.
trace::Ref tally(Segment& segment, const trace::SampleRecord& sample, std::uint8_t flags);

/// Counts the free of a sample that the tally counted.
void tally_free(const Segment& segment, trace::Ref tally);

/// Stops tracking a sample that the tally counted: moves it to the tally of untracked samples of
/// its kind.
void stop_tracking(Segment& segment, trace::Ref tally);

/// Whether new kinds of samples are still recorded with stacks and names.
[[nodiscard]] bool tells_apart(const Segment& segment);

/// Like trace::chance_of, for samples without a record of their own.
[[nodiscard]] std::uint64_t chance_of_address(std::uint64_t address);

namespace {

using trace::RecordHeader;
using trace::SampleRecord;
using trace::TallyRecord;

/// Significant bits of a rounded size: 32 sizes per octave, at most 1.6 % off.
constexpr int kRoundedBits = 6;

/// Room for the coarse tallies: 48 octaves of 32 sizes, each certain or not and tracked or not, and
/// the same again for changed intervals.
constexpr Bytes kCoarseBytes = Bytes{48} * 32 * 4 * 2 * sizeof(TallyRecord);

/// The fields that samples in one tally share.
struct Likeness {
  trace::Ref stack;
  trace::Ref epoch;
  trace::Ref label;
  trace::Ref type;
  std::uint64_t requested_kind;
  std::uint64_t usable_heap;
  std::uint8_t flags;
};

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9fb21c651e98df25U;
  return hash ^ hash >> 29;
}

std::uint64_t hash_of(const Likeness& like) {
  std::uint64_t hash = mix(like.flags + 1U, std::uint64_t{like.stack} << 32 | like.epoch);
  hash = mix(hash, std::uint64_t{like.label} << 32 | like.type);
  return mix(mix(hash, like.requested_kind), like.usable_heap);
}

Bytes rounded(Bytes size) {
  const int excess = static_cast<int>(std::bit_width(size)) - kRoundedBits;
  if (excess <= 0) return size;
  const Bytes half = Bytes{1} << (excess - 1);
  return (size + half) >> excess << excess;
}

/// Without stack and names, and with rounded sizes.
Likeness coarse(const Likeness& like) {
  return {.stack = 0,
          .epoch = like.epoch,
          .label = 0,
          .type = 0,
          .requested_kind = rounded(like.requested_kind & SampleRecord::kSizeMask),
          .usable_heap = rounded(like.usable_heap & SampleRecord::kSizeMask),
          .flags = like.flags};
}

trace::Ref write_tally(Segment& segment, const Likeness& like) {
  const trace::Heading heading{.flags = like.flags};
  return trace::append<TallyRecord>(segment.writer, heading,
                                    [&](TallyRecord& record) {
                                      record.first = base::monotonic_now();
                                      record.stack = like.stack;
                                      record.epoch = like.epoch;
                                      record.requested_kind = like.requested_kind;
                                      record.usable_heap = like.usable_heap;
                                      record.label = like.label;
                                      record.type = like.type;
                                    })
      .ref;
}

trace::Ref find_or_write(Segment& segment, const Likeness& like) {
  const std::uint64_t hash = hash_of(like);
  if (const trace::Ref known = segment.tallies.find(hash); known != 0) return known;
  const trace::Ref written = write_tally(segment, like);
  if (written != 0) segment.tallies.insert(hash, written);
  return written;
}

trace::Ref tally_of(Segment& segment, const Likeness& like) {
  if (const trace::Ref known = segment.tallies.find(hash_of(like)); known != 0) return known;
  return find_or_write(segment, tells_apart(segment) ? like : coarse(like));
}

TallyRecord& at(const Segment& segment, trace::Ref tally) {
  return const_cast<TallyRecord&>(segment.writer.at<TallyRecord>(tally));
}

}  // namespace

trace::Ref tally(Segment& segment, const SampleRecord& sample, std::uint8_t flags) {
  const Likeness like{sample.stack,          sample.epoch,       sample.label, sample.type,
                      sample.requested_kind, sample.usable_heap, flags};
  const trace::Ref tally = tally_of(segment, like);
  if (tally == 0) return 0;
  at(segment, tally).allocated.fetch_add(1, std::memory_order_relaxed);
  at(segment, tally).last.store(sample.time, std::memory_order_relaxed);
  return tally;
}

bool tells_apart(const Segment& segment) {
  const Bytes capacity = segment.writer.header()->capacity;
  return segment.writer.tail() + kCoarseBytes + capacity / 8 <= capacity;
}

void tally_free(const Segment& segment, trace::Ref tally) {
  at(segment, tally).freed.fetch_add(1, std::memory_order_relaxed);
}

void stop_tracking(Segment& segment, trace::Ref tally) {
  TallyRecord& from = at(segment, tally);
  const std::uint8_t flags = RecordHeader::unpack(from.header).flags | trace::kFlagUntracked;
  const trace::Ref to = find_or_write(segment, {from.stack, from.epoch, from.label, from.type,
                                                from.requested_kind, from.usable_heap, flags});
  if (to == 0) return segment.writer.count_drop(trace::DropCause::kLiveTableFull);
  from.allocated.fetch_sub(1, std::memory_order_relaxed);
  at(segment, to).allocated.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t chance_of_address(std::uint64_t address) {
  SampleRecord sample{};
  sample.address = address;
  return trace::chance_of(image.origin.seed, sample);
}

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
