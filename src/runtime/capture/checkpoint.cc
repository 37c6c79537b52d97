#include "runtime/capture/checkpoint.h"

#include <iterator>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/raw_syscall.h"
#include "runtime/capture/arena.h"
#include "runtime/capture/confinement.h"
#include "runtime/capture/image.h"
#include "runtime/capture/live_samples.h"
#include "runtime/capture/names.h"
#include "runtime/capture/record_stack.h"
#include "runtime/capture/thread_state.h"

namespace geiger::capture {
namespace {

using trace::CarriedRecord;
using trace::RecordHeader;
using trace::RecordType;
using trace::SampleRecord;

trace::Ref carry_epoch(Segment& next, const Segment& before, trace::Ref epoch) {
  return epoch_of_interval(next, before.writer.at<trace::EpochRecord>(epoch).interval);
}

trace::Ref carry_stack_of(Segment& next, const Segment& before, trace::Ref stack) {
  if (stack == 0) return 0;
  return carry_stack(next, stack, before.writer.at<trace::StackRecord>(stack));
}

/// A sample with its references moved; no room: stack and epoch stay 0.
SampleRecord moved(Segment& next, const Segment& before, SampleRecord sample) {
  sample.stack = carry_stack_of(next, before, sample.stack);
  sample.epoch = carry_epoch(next, before, sample.epoch);
  sample.label = carry_name(next, before, sample.label);
  sample.type = carry_name(next, before, sample.type);
  return sample;
}

/// Threads that live on are named in the next segment, whether they run again or not.
void carry_threads(Segment& next) {
  for (const ThreadState* state = first_state(); state != nullptr; state = state->next) {
    const bool is_named = state->lifecycle.load(std::memory_order_acquire) == kLive &&
                          state->generation == image.generation;
    if (is_named) write_thread(next, *state, trace::kFlagCarriedThread);
  }
}

void write_checkpoint(Segment& next, std::uint64_t carried, std::uint64_t lost) {
  constexpr RecordHeader kHeader{RecordType::kCheckpoint, 0, sizeof(trace::CheckpointRecord) / 8,
                                 trace::kUnknownCpu, 0};
  const trace::Slot slot = next.writer.reserve(kHeader);
  if (!slot) return;
  auto* record = reinterpret_cast<trace::CheckpointRecord*>(slot.words);
  record->time = base::monotonic_now();
  record->carried = carried;
  record->lost = lost;
  trace::Writer::commit(slot, kHeader);
}

bool carry_one(Segment& next, const Segment& before, std::uint64_t key, std::uint64_t value) {
  const auto previous = static_cast<trace::Ref>(value);
  // A slow path that took longer than a whole segment carries past that one.
  const bool is_next = next.writer.header()->segment == before.writer.header()->segment + 1;
  const SampleRecord sample = moved(next, before, sample_at(before, previous));
  // Its own header, or that of the record it was carried in before.
  const auto last = RecordHeader::unpack(before.writer.at<SampleRecord>(previous).header);
  RecordHeader header{RecordType::kCarried, last.flags, sizeof(CarriedRecord) / 8, last.cpu,
                      last.thread};
  const trace::Slot slot = next.writer.reserve(header);
  if (!slot) return false;
  auto* record = reinterpret_cast<CarriedRecord*>(slot.words);
  record->sample = sample;
  record->sample.header = 0;
  record->previous = is_next ? previous : 0;
  const bool lives = image.live.exchange(key, value, live_value(next, slot.ref));
  if (!lives) header.flags |= trace::kFlagVoid;
  trace::Writer::commit(slot, header);
  return true;
}

void carry_all(Segment& next, const Segment& before) {
  std::uint64_t carried = 0, lost = 0;
  image.live.for_each([&](std::uint64_t key, std::uint64_t value) {
    if (!is_of(before, value)) return;
    const bool is_carried = carry_one(next, before, key, value);
    ++(is_carried ? carried : lost);
  });
  next.writer.count_drop(trace::DropCause::kUncarried, lost);
  write_checkpoint(next, carried, lost);
}

/// The name of the trace that is one too many.
void forget_oldest(std::uint32_t segment) {
  const std::uint64_t keep = image.settings.keep;
  if (keep == 0 || segment < keep) return;
  const auto oldest = static_cast<std::uint32_t>(segment - keep);
  remove_trace(image.files[oldest % std::size(image.files)]);
}

void publish(Segment& next, Segment& before) {
  write_thinning(next);
  next.writer.header()->state.store(trace::State::kSampling, std::memory_order_release);
  list_ranges(next.writer.header()->runtime_ranges);
  image.segment.store(&next, std::memory_order_seq_cst);
  before.writer.finish(trace::State::kContinued, base::monotonic_now());
}

GEIGER_SLOW_PATH void open_next(Segment& before) {
  const std::uint32_t wanted =
      before.writer.control()->wanted_segment.load(std::memory_order_relaxed);
  image.segment_served.store(wanted, std::memory_order_relaxed);
  take_marks(before);
  Segment* next = open_segment(&before);
  if (next == nullptr) {  // The last one goes on; again when it has grown as much once more.
    before.full_at = full_at(before);
    return;
  }
  next->full_at = 0;  // Not before its checkpoint is whole.
  forget_oldest(next->writer.header()->segment);
  publish(*next, before);
  carry_threads(*next);
  carry_all(*next, before);
  next->full_at = full_at(*next);
}

}  // namespace

Bytes full_at(const Segment& segment) {
  return image.settings.segment == 0 ? 0 : segment.writer.tail() + image.settings.segment;
}

bool is_next_due(const Segment& segment) {
  if (is_confined()) return false;  // Opening one takes system calls.
  if (segment.full_at != 0 && segment.writer.tail() >= segment.full_at) return true;
  const std::uint32_t wanted =
      segment.writer.control()->wanted_segment.load(std::memory_order_relaxed);
  return wanted != image.segment_served.load(std::memory_order_relaxed);
}

GEIGER_SLOW_PATH void go_on_in_next() {
  std::uint32_t free = 0;
  if (!image.is_continuing.compare_exchange_strong(free, 1, std::memory_order_acquire)) return;
  Segment& before = current_segment();
  if (is_next_due(before)) open_next(before);
  image.is_continuing.store(0, std::memory_order_release);
}

void carry(Segment& next, const Segment& before, std::uint64_t key, std::uint64_t value) {
  if (!carry_one(next, before, key, value)) {
    next.writer.count_drop(trace::DropCause::kUncarried);
  }
}

}  // namespace geiger::capture
