// A segment: one trace of the image, and the tables that refer to its records.
//
// Most images have one. With GEIGER_SEGMENT an image continues in a new trace when the current one
// has grown: checkpoint.h. Threads that are inside a slow path then still write into the segment
// they found. That is always correct: a segment is complete with or without their records. No
// thread waits; a segment's memory is released only when no thread can still use it:
//
//   pin      a slow path notes the number of the segment that it uses; so does a decided sample,
//            until it is recorded where it was counted
//   reuse    of kSegments places, one is taken for a new segment that is not the current
//            one and that no thread has pinned. Between the note and the use of a segment
//            there are a few instructions, between its end and its reuse at least
//            kSegments - 2 whole segments.
//
// The program itself may also read segments (interface.h), for longer than a slow path:
//
//   hold     counts a reader of the segment of this number, if it is still there
//   claim    before reuse: a held place is skipped, a claimed one refuses readers
//
// A trace in memory keeps its addresses: its place releases the pages, and the next segment uses
// the same addresses.
//
// Threads / Signals: lock-free. Fork: the child starts a segment of its own. Allocates:
// never through malloc.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/units.h"
#include "runtime/capture/tables/number_table.h"
#include "trace/format.h"
#include "trace/share.h"
#include "trace/writer.h"

namespace geiger::capture {

// A mapped trace of this process. A record is at its reference * 8.

struct TraceView {
  const char* base;
  Bytes bytes;  ///< Mapped.
  const trace::FileHeader* header;
  std::uint32_t number;  ///< Of the segment; never reused.

  template <typename Layout>
  [[nodiscard]] const Layout& at(trace::Ref ref) const {
    return *reinterpret_cast<const Layout*>(base + Bytes{ref} * 8);
  }
};

struct ThreadState;

/// The interval in force. A thread that sees a new one redraws its skip count.
struct Epoch {
  std::atomic<trace::Ref> ref;  ///< Its record, which has the interval to draw with.
  std::atomic<std::uint64_t> interval;
};

struct Segment {
  /// 1 and up, never reused, not even in children by fork; live entries contain it.
  std::atomic<std::uint32_t> number;
  trace::Writer writer;
  Epoch epoch;
  std::atomic<std::uint32_t> modules_written;
  NumberTable stacks{512};                      ///< Hash -> StackRecord.
  NumberTable epochs{256};                      ///< Interval -> an EpochRecord of it.
  NumberTable tallies{512};                     ///< Hash -> TallyRecord.
  NumberTable codes{512};                       ///< Hash -> CodeRecord.
  std::atomic<trace::Ref> interpreter;          ///< Its record, 0 = none yet.
  std::atomic<std::uint32_t> interpreter_told;  ///< State of that record: record_stack.cc.
  std::atomic<std::uint32_t> readers;           ///< Number of holds, or kClaimed.
  void* memory;                                 ///< Of traces in memory, null before the first.
  Bytes full_at;                                ///< Tail at which the next is due; 0 = never.
};

/// The key, in a table of one segment, of the record at `before` in the previous segment. Spread
/// over all bits, because tables use the low ones.
[[nodiscard]] inline std::uint64_t carried_key(trace::Ref before) {
  const std::uint64_t key = (std::uint64_t{before} << 1 | 1) * 0x9e3779b97f4a7c15U;
  return key ^ key >> 32;
}

/// Places for segments: the current one, one that slow paths may still be in, and two more
/// for threads that were stopped in the middle of one.
inline constexpr std::size_t kSegments = 4;

/// Segment::readers of a place that is about to be reused.
inline constexpr std::uint32_t kClaimed = std::uint32_t{1} << 31;

/// The mapped records of a segment.
[[nodiscard]] TraceView view_of(const Segment& segment);

/// Keeps the segment of this number mapped until release_trace(); false: it is gone.
[[nodiscard]] bool hold_trace(std::uint32_t number, TraceView& view);
void release_trace(std::uint32_t number);

/// In a fork's child: abandons places that the parent was reading, without unmapping them.
void forget_readers();

/// Pins a segment for as long as the calling thread is inside a slow path: the one of this number,
/// if it is still there, else the current one.
class PinnedSegment {
 public:
  explicit PinnedSegment(ThreadState& state, std::uint32_t number = 0);
  PinnedSegment(const PinnedSegment&) = delete;
  PinnedSegment& operator=(const PinnedSegment&) = delete;
  ~PinnedSegment();

  [[nodiscard]] Segment& operator*() const { return *segment_; }
  [[nodiscard]] Segment* operator->() const { return segment_; }
  /// Whether another slow path of this thread is under way, further up its stack.
  [[nodiscard]] bool is_nested() const { return outer_frame_ != nullptr; }

 private:
  ThreadState& state_;
  std::uint32_t outer_;
  const void* outer_frame_;
  Segment* segment_;
};

/// Opens the next trace of the image and writes its first epoch; no other thread sees the segment
/// yet. `before`: the segment that it continues, null for a process's first. Returns null without a
/// place, file or room.
[[nodiscard]] Segment* open_segment(const Segment* before);

/// Truncates the image's traces to their size. At the end of a recording, when none is written any
/// more.
void shrink_traces();

/// Removes the name of the process's trace number `n`.
void remove_trace(std::uint32_t n);

/// Finds or writes a record of this interval, in force or not, for samples drawn with it. 0: no
/// room in the trace, or not within [1, kMostInterval].
[[nodiscard]] trace::Ref epoch_of_interval(Segment& segment, std::uint64_t interval);

/// Writes a thread's record and, if it is known, its name. Null: no room.
trace::ThreadRecord* write_thread(Segment& segment, const ThreadState& state, std::uint8_t flags);

/// Writes the thread's last known name. False: no room.
bool write_thread_name(Segment& segment, const ThreadState& state);

/// Puts an interval in force. False: no room.
bool write_epoch(Segment& segment, std::uint64_t interval);

/// Longest interval that can be requested: 1 TiB.
using trace::kMostInterval;

}  // namespace geiger::capture
