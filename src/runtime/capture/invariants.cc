#include "runtime/capture/invariants.h"

#if defined(GEIGER_EXPENSIVE_ASSERTIONS)

#include <string.h>

#include "base/check.h"
#include "runtime/capture/capture.h"
#include "runtime/capture/guard_mode.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/sample/live_samples.h"
#include "runtime/capture/tables/arena.h"
#include "runtime/capture/tables/filter.h"
#include "runtime/capture/thread/thread_state.h"

namespace geiger::capture {

std::uint32_t walk_every = 64;
std::uint64_t walks = 0;

namespace {

using trace::RecordHeader;
using trace::RecordType;
using trace::Ref;

/// Keeps the first requirement that does not hold.
class Findings {
 public:
  void require(bool holds, const char* what) {
    if (!holds && first_ == nullptr) first_ = what;
  }
  [[nodiscard]] const char* first() const { return first_; }

 private:
  const char* first_ = nullptr;
};

RecordHeader header_at(const Segment& segment, Ref ref) {
  return RecordHeader::unpack(segment.writer.at<std::uint64_t>(ref));
}

bool is_reference_to(const Segment& segment, Ref ref, Ref before, RecordType type) {
  return ref >= trace::kRecordsOffset / 8 && ref < before && header_at(segment, ref).type == type;
}

bool is_sample(const Segment& segment, Ref ref, Ref before) {
  return is_reference_to(segment, ref, before, RecordType::kSample) ||
         is_reference_to(segment, ref, before, RecordType::kCarried);
}

/// A sample refers to records that were written before it.
void walk_sample(const Segment& segment, const trace::SampleRecord& sample, Ref at,
                 Findings& found) {
  found.require(sample.stack == 0 || is_reference_to(segment, sample.stack, at, RecordType::kStack),
                "trace: a sample refers to no earlier stack");
  found.require(is_reference_to(segment, sample.epoch, at, RecordType::kEpoch),
                "trace: a sample refers to no earlier epoch");
}

void walk_record(const Segment& segment, const RecordHeader& header, Ref at, Findings& found) {
  if (header.type == RecordType::kSample) {
    walk_sample(segment, segment.writer.at<trace::SampleRecord>(at), at, found);
  } else if (header.type == RecordType::kStack) {
    const std::uint64_t count = segment.writer.at<trace::StackRecord>(at).count;
    found.require(count <= trace::kMaxFrames && header.words == count + 2,
                  "trace: a stack has another number of frames than room for them");
  } else if (header.type == RecordType::kFree) {
    found.require(is_sample(segment, segment.writer.at<trace::FreeRecord>(at).sample, at),
                  "trace: a free refers to no earlier sample");
  } else if (header.type == RecordType::kObjectType) {
    const auto& typed = segment.writer.at<trace::ObjectTypeRecord>(at);
    found.require(is_sample(segment, typed.sample, at) &&
                      is_reference_to(segment, typed.type, at, RecordType::kName),
                  "trace: an object's type refers to no earlier sample, or no earlier name");
  }
}

void walk_trace(const Segment& segment, Findings& found) {
  const Bytes tail = segment.writer.tail();
  if (segment.writer.is_stopped() || tail > segment.writer.header()->capacity) return;
  found.require(tail % 8 == 0 && tail >= trace::kRecordsOffset, "trace: its tail is not aligned");
  auto at = static_cast<Ref>(trace::kRecordsOffset / 8);
  while (at < tail / 8 && found.first() == nullptr) {
    const RecordHeader header = header_at(segment, at);
    found.require(header.words != 0 && at + header.words <= tail / 8,
                  "trace: a record reaches past the tail, or has no size");
    found.require((header.flags & trace::kReserved) == 0, "trace: a record is not committed");
    found.require(header.type <= RecordType::kMaxKnown, "trace: a record has no type");
    if (found.first() == nullptr) walk_record(segment, header, at, found);
    at += header.words;
  }
}

/// Checks the live table's entry of `key` against the record.
void walk_live(const Segment& segment, std::uint64_t key, std::uint64_t value, Findings& found) {
  found.require(value != 0, "live table: an entry has no value");
  found.require(value >> 32 <= image.segments.last_number, "live table: a segment yet to come");
  if (!is_of(segment, value)) return;
  const auto ref = static_cast<Ref>(value);
  const RecordType type = header_at(segment, ref).type;
  if (type == RecordType::kTally) return;
  found.require(type == RecordType::kSample || type == RecordType::kCarried,
                "live table: an entry refers to no sample");
  if (found.first() != nullptr) return;
  const trace::SampleRecord& sample = sample_at(segment, ref);
  const void* known = key_of(reinterpret_cast<const void*>(sample.address), sample.heap());
  found.require(reinterpret_cast<std::uint64_t>(known) == key,
                "live table: an entry refers to the sample of another address");
}

void walk_counter(Findings& found) {
  const ThreadState* state = own_state();
  if (state == nullptr || state->generation != image.origin.generation) return;
  const std::uint64_t armed = state->armed.load(std::memory_order_relaxed);
  found.require(armed == kTaken || tls.countdown <= armed,
                "counter: more is left than it was armed with");
}

/// Whether no other thread can be inside a table.
bool is_alone() {
  int live = 0;
  for (const ThreadState* state = first_state(); state != nullptr; state = state->next) {
    live += state->lifecycle.load(std::memory_order_acquire) == kFree ? 0 : 1;
  }
  return live <= 1;
}

}  // namespace

const char* broken_invariant() {
  const Segment& segment = current_segment();
  Findings found;
  walk_counter(found);
  found.require(is_arena_whole(), "arena: what it handed out is not aligned, or ranges overlap");
  found.require(image.live.table.is_whole(),
                "live table: its entries are miscounted, or out of reach");
  image.live.table.for_each([&](std::uint64_t key, std::uint64_t value) {
    walk_live(segment, key, value, found);
    found.require(filter.maybe_holds(reinterpret_cast<const void*>(key)),
                  "filter: it does not hold a live sample");
  });
  const auto visit_all = [](const auto& visit) {
    image.live.table.for_each(visit);
    for_each_guarded_address(visit);
  };
  found.require(filter.counts_all(visit_all),
                "filter: a slot counts other than its live samples and guarded objects");
  segment.stacks.for_each([&](std::uint32_t ref) {
    const auto end = static_cast<Ref>(segment.writer.tail() / 8);
    found.require(is_reference_to(segment, ref, end, RecordType::kStack),
                  "stack table: a number refers to no stack");
  });
  walk_trace(segment, found);
  return found.first();
}

void check_invariants(const PinnedSegment& segment) {
  static constinit std::uint32_t slow_paths = 0;
  if (segment.is_nested() || ++slow_paths % walk_every != 0 || !is_alone()) return;
  ++walks;
  const char* broken = broken_invariant();
  if (broken != nullptr) base::fail_assertion(__FILE__, __LINE__, broken);
}

}  // namespace geiger::capture

#endif
