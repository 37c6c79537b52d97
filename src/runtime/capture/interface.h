// What libgeiger.so calls in the capture of the same process, through one exported table.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/capture/capture.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/program/names.h"
#include "runtime/capture/sample/events.h"
#include "runtime/unwind/unwind.h"

namespace geiger::capture {

// Heaps that the program manages itself: pools, arenas, memory of devices.
//
// The code that manages such a heap has its own sampler (a trial per byte, as for malloc) and
// reports the samples it drew. Thread totals and their check against the hits cover only the
// process's heap.
//
// Threads / Signals / Fork: as capture.h.

/// The rate to draw with, and the image and epoch that it belongs to. A sample is reported with the
/// rate it was drawn with, even if another image or epoch is current.
struct Rate {
  std::uint64_t interval;  ///< T, bytes.
  double lambda;
  trace::Ref epoch;
  std::uint32_t image;    ///< Number of the segment of `epoch`; 0: not recording.
  std::uint32_t process;  ///< Number of the first segment of the process.
  bool is_pure;           ///< No allocation is certain.
};
/// Starts the image if this is a fork's child that has not allocated yet.
[[nodiscard]] Rate current_rate();

/// The rate of `interval`, for a caller that drew with an interval that is not or no longer in
/// force. Image is 0 also if it cannot be recorded.
[[nodiscard]] Rate rate_of_interval(std::uint64_t interval);

/// An allocation that the reporter drew.
struct Report {
  NameId heap = 0;            ///< Defined with NameKind::kHeap and its number as owner.
  NameId type = 0;            ///< 0: the type in force in the thread, if any.
  std::uint64_t address = 0;  ///< Below 2^48.
  Bytes requested = 0;
  Bytes usable = 0;
  std::size_t alignment = 0;
  std::uint64_t offset = 0;
  Rate rate;
  bool is_certain = false;
  unwind::Registers caller{};  ///< Start of the stack: in the program, not in the reporting code.
};

enum class Reported { kYes, kNotRecording, kOtherImage, kWrongHeap, kWrongAddress };

/// Records a drawn allocation. While paused it records nothing and returns kYes.
Reported report_sample(const Report& report);

/// Records the free of a custom heap's allocation if it is a live sample. Cheap if it is not.
/// kWrongHeap for an id that is not a heap's.
Reported report_free(NameId heap, std::uint64_t address, const unwind::Registers& caller);

// The exact number of bytes that a thread or the process has requested from malloc and related
// functions, sampled or not, recording paused or not:
//
//   bytes of a thread = settled + (armed - countdown)
//
// A thread settles at its slow paths; its later requests are read from its counter. The three
// values are consistent if `settling` is even and the same before and after reading them.
//
// Threads: any may ask; it waits briefly for threads inside a slow path. Signals: safe; a handler
// that interrupted a slow path cannot read its own thread's bytes. Fork:
// the child counts from 0. Allocates: never.

enum class Counted : std::uint8_t {
  kYes,
  kNotRecording,  ///< Counters no longer measure allocated bytes.
  kInterrupted,   ///< The calling thread is inside a slow path, further up its stack.
};

/// The bytes of the calling thread since its start.
Counted bytes_of_thread(std::uint64_t& bytes);

struct ProcessBytes {
  std::uint64_t bytes;
  /// At most this many more, of threads whose counters could not be read.
  std::uint64_t missing;
};
/// The bytes of all threads, including those that have ended.
Counted bytes_of_process(ProcessBytes& found);

// The functions that libgeiger.so calls in the capture of the same process.
//
// The preload library exports one symbol, a table of functions. Both libraries must come from one
// build: libgeiger.so compares the versions and does nothing if they differ.
//
// Threads / Signals / Fork: documented at each function's declaration. Ids and references of
// samples are valid in this process image; a child by fork has its own.

/// The state of the capture at one instant.
struct Status {
  Phase phase;
  trace::StopReason stop_reason;
  std::int32_t stop_errno;
  bool is_recording;
  bool is_paused;
  bool is_in_memory;          ///< No trace file; only this process reads the trace.
  std::uint32_t image;        ///< Number of the segment being written.
  std::uint32_t first_image;  ///< Of this process's segments.
  std::uint64_t interval;
  std::uint64_t largest_interval;  ///< Since forget_intervals().
  std::size_t live_samples;
  const trace::FileHeader* header;  ///< Null before the image starts.
};

using LiveVisitor = void (*)(void* context, std::uint64_t key, std::uint32_t number,
                             trace::Ref sample);

struct Interface {
  const char* version;
  /// Starts the image if no allocation has started it yet.
  Status (*status)();
  /// The calling thread's names in force, for the caller to set.
  Naming* (*naming)();
  NameId (*define_name)(trace::NameKind kind, std::uint32_t owner, const char* text,
                        std::size_t bytes);
  NamedThing (*name_at)(NameId name);
  bool (*write_mark)(const char* text, std::size_t bytes);
  /// Takes effect in the calling thread at once, in others at their next slow path.
  bool (*set_interval)(std::uint64_t interval);
  void (*set_own_interval)(std::uint64_t interval);
  Bytes (*largest_interval_in_use)();
  void (*forget_intervals)();
  /// Stops and resumes recording at the program's request, separately from the control page's.
  void (*hold)(bool is_held);
  void (*record_free_stacks)(bool is_wanted);
  Rate (*current_rate)();
  Rate (*rate_of_interval)(std::uint64_t interval);
  Reported (*report_sample)(const Report& report);
  Reported (*report_free)(NameId heap, std::uint64_t address, const unwind::Registers& caller);
  /// Keeps a segment's trace mapped until it is released; false: it is gone.
  bool (*hold_trace)(std::uint32_t number, TraceView& view);
  void (*release_trace)(std::uint32_t number);
  /// Calls visit(context, key, number, sample) with each live sample of this process, whose record
  /// is in the segment of this number: see LiveTable::for_each. Stops no thread.
  void (*for_each_live)(LiveVisitor visit, void* context);
  std::atomic<const Listener*>* listener;
  /// The calling thread's data. Its countdown changes with every allocation seen.
  ThreadLocal* (*thread)();
  Counted (*bytes_of_thread)(std::uint64_t& bytes);
  Counted (*bytes_of_process)(ProcessBytes& found);
  /// Zeroed memory that is not from malloc and is never released.
  void* (*allocate)(std::size_t bytes);
};

}  // namespace geiger::capture

/// Weak in libraries that may be loaded without a capture.
// NOLINTNEXTLINE(readability-identifier-naming): a C name.
extern "C" [[gnu::visibility("default")]] const geiger::capture::Interface geiger_capture_v1;
