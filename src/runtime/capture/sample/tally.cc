#include "runtime/capture/sample/tally.h"

#include <bit>

#include "base/clock.h"
#include "runtime/capture/image/image.h"
#include "trace/append.h"

namespace geiger::capture {
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

}  // namespace geiger::capture
