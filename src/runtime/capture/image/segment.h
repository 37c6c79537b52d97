// A segment: one trace of the image, and what refers to its records.
//
// Most images have one. Where the settings say so (GEIGER_SEGMENT) an image goes on in a new trace
// when the current one has grown: checkpoint.h. Then threads that are inside a slow path still
// write into the segment they found, which is right at any time: a segment is whole with or without
// them. No thread waits; a segment's memory is given back only when no thread can be inside any
// more:
//
//   pin      a slow path notes the number of the segment that it uses
//   reuse    of kSegments places, one is taken for a new segment that is not the current
//            one and that no thread has pinned. Between the note and the use of a segment
//            lie a few instructions, between its end and its reuse at least
//            kSegments - 2 whole segments.
//
// The program itself may read too (interface.h), records that are older than a slow path:
//
//   hold     counts a reader of the segment of this number, if it is still there
//   claim    before reuse: a place that is held is passed over, a claimed one refuses readers
//
// A trace in memory stays where it is: its place gives the pages back, and the next one uses the
// same addresses.
//
// Threads / Signals: lock-free. Fork: the child starts a segment of its own. Allocates:
// never through malloc.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/units.h"
#include "runtime/capture/image/trace_view.h"
#include "runtime/capture/tables/number_table.h"
#include "trace/share.h"
#include "trace/writer.h"

namespace geiger::capture {

struct ThreadState;

/// The interval in force. A thread that meets a new one redraws its skip count.
struct Epoch {
  std::atomic<trace::Ref> ref;  ///< Its record, which has the interval to draw with.
  std::atomic<std::uint64_t> interval;
};

struct Segment {
  /// 1 and up, never the same twice, also not in children by fork; live entries carry it.
  std::atomic<std::uint32_t> number;
  trace::Writer writer;
  Epoch epoch;
  std::atomic<std::uint32_t> modules_written;
  NumberTable stacks{512};                      ///< Hash -> StackRecord.
  NumberTable epochs{256};                      ///< Interval -> an EpochRecord of it.
  NumberTable tallies{512};                     ///< Hash -> TallyRecord.
  NumberTable codes{512};                       ///< Hash -> CodeRecord.
  std::atomic<trace::Ref> interpreter;          ///< Its record, 0 = none yet.
  std::atomic<std::uint32_t> interpreter_told;  ///< What the record says: interpreted.cc.
  std::atomic<std::uint32_t> readers;           ///< Holds, or kClaimed.
  void* memory;                                 ///< Of traces in memory, null before the first.
  Bytes full_at;                                ///< Where the next segment is due; 0 = never.
};

/// The key, in a table of one segment, of what stood at `before` in the segment before: spread over
/// all bits, of which tables take the low ones.
[[nodiscard]] inline std::uint64_t carried_key(trace::Ref before) {
  const std::uint64_t key = (std::uint64_t{before} << 1 | 1) * 0x9e3779b97f4a7c15U;
  return key ^ key >> 32;
}

/// Places for segments: the current one, one that slow paths may still be in, and two more
/// for threads that were stopped in the middle of one.
inline constexpr std::size_t kSegments = 4;

/// Segment::readers of a place that is about to be used anew.
inline constexpr std::uint32_t kClaimed = std::uint32_t{1} << 31;

/// Where the records of a segment lie.
[[nodiscard]] TraceView view_of(const Segment& segment);

/// Keeps the segment of this number where it is; false: it is gone. To be released.
[[nodiscard]] bool hold_trace(std::uint32_t number, TraceView& view);
void release_trace(std::uint32_t number);

/// In a fork's child: places that its parent was reading are left as they are.
void forget_readers();

/// Pins the current segment for as long as the calling thread is inside a slow path.
class PinnedSegment {
 public:
  explicit PinnedSegment(ThreadState& state);
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

/// Opens the next trace of the image and writes its first epoch; no other thread knows the segment
/// yet. `before`: the one that it goes on from, null for a process's first. Null: no place, no
/// file, no room.
[[nodiscard]] Segment* open_segment(const Segment* before);

/// At the end of a recording: no trace of the image is written any more.
void shrink_traces();

/// Removes the name of the process's trace number `n`.
void remove_trace(std::uint32_t n);

/// A record of this interval, in force or not, for samples that were drawn with it. 0: no
/// room in the trace, or not within [1, kMostInterval].
[[nodiscard]] trace::Ref epoch_of_interval(Segment& segment, std::uint64_t interval);

/// Writes a thread's record and, if it is known, its name. Null: no room.
trace::ThreadRecord* write_thread(Segment& segment, const ThreadState& state, std::uint8_t flags);

/// Writes the name that a thread is known by. False: no room.
bool write_thread_name(Segment& segment, const ThreadState& state);

/// Puts an interval in force. False: no room.
bool write_epoch(Segment& segment, std::uint64_t interval);

/// Longest interval that can be asked for: 1 TiB.
using trace::kMostInterval;

}  // namespace geiger::capture
