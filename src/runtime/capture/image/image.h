// The image being recorded: this process since exec or fork, with its trace.
//
// Phases, only downwards except for fork's child, which starts again:
//
//   kUninitialised -> kStarting -> kSampling -> kDetached  (on request; may start again)
//                          \-----> kOff  (no settings, no trace, or nochildren)
//
// A process that sleeps until it is called (dormancy.h) is kDormant instead of kOff. From there it
// goes to kSampling, through kStarting, and back.
//
// Zero-initialised is kUninitialised: the first slow path starts it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "base/units.h"
#include "runtime/capture/image/governor.h"
#include "runtime/capture/image/segment.h"
#include "runtime/capture/image/settings.h"
#include "runtime/capture/tables/live_table.h"

namespace geiger::capture {

enum class Phase : std::uint32_t {
  kUninitialised,
  kStarting,
  kSampling,
  kOff,
  kDetached,
  kDormant,
};

/// How this image began. Written in kStarting, before other threads can record; read by all. Valid
/// until the next image of the process.
struct Origin {
  /// Number of images in this memory so far: +1 in every child by fork.
  std::uint32_t generation;
  std::uint64_t seed;  ///< Process seed.
  bool is_forked;
  /// Began in a running process: by waking a sleeper, or by attaching. After attaching, counters
  /// are never stopped for good, as another image may follow.
  bool is_attached;
  /// The allocator draws the samples of the process's heap (sample.h).
  bool is_drawn_by_allocator;
};

/// State of continuing in the next segment, which one thread does at a time. If a handler jumps out
/// of it, the next thread completes it.
struct Continuation {
  std::atomic<const ThreadState*> by;  ///< Null: no thread.
  const void* frame;                   ///< Of that thread.
  Segment* before;                     ///< The segment to carry from; null: nothing to carry.
  std::uint64_t carried;               ///< Samples, so far.
  std::uint64_t lost;
};

/// The traces of the image. Written by the thread that opens one, in kStarting or with a claimed
/// continuation; other threads read only `current`. The numbers outlive the image: children by fork
/// continue them.
struct Segments {
  std::atomic<Segment*> current;       ///< The segment being written.
  std::uint32_t first_number;          ///< Of this image's segments.
  std::uint32_t last_number;           ///< The last number given to a segment.
  std::uint32_t next_file;             ///< Number of the next trace's name.
  std::uint32_t files[kMostKept + 1];  ///< Numbers in the last traces' names, by segment.
  int open_error;                      ///< Of the last trace that could not be opened, 0 if none.
  Continuation continuation;
  Segment places[kSegments];
};

/// The intervals that samples are drawn with. Any thread may change them, by atomic operations.
struct Intervals {
  std::atomic<std::uint64_t> own;       ///< A fork's child starts with it; outlives the image.
  std::atomic<std::uint64_t> largest;   ///< The largest drawn with, since forget_intervals().
  std::atomic<std::uint64_t> followed;  ///< The control page's last request.
  /// The segment's tail when double_interval() last doubled the interval; 0 = not yet.
  std::atomic<std::uint64_t> doubled_at;
  Governor governor;

  void start(std::uint64_t share);
};

/// The program's requests through the API (interface.h). Outlives the image.
struct ProgramWishes {
  /// Recording paused, independently of the control page.
  std::atomic<bool> is_held;
  /// Record the stacks of frees too, in a recording in memory.
  std::atomic<bool> wants_free_stacks;
  /// The program reads traces while they are written, so old ones are useful.
  std::atomic<bool> reads_traces;
};

/// The last served requests of the control page; the thread that claimed one serves it.
struct Served {
  std::atomic<std::uint32_t> utilization;
  std::atomic<std::uint32_t> residency;
  std::atomic<std::uint32_t> segment;

  void start();
};

/// The state of a process that sleeps (dormancy.cc).
struct Sleeper {
  std::atomic<std::uint32_t> is_ending;  ///< 1: a thread ends the recording on request.
  /// Woken by a tool that listens: records in memory, only for the tool's events.
  std::atomic<bool> is_for_tools;
};

/// The live samples (live_samples.h). Inherited by fork's child, with the parent's segment numbers.
struct Live {
  LiveTable table;
  /// Level of thinning of this image: live samples are tracked with probability 2^-level.
  std::atomic<std::uint32_t> thinning;
};

struct Image {
  std::atomic<Phase> phase;
  Settings settings;  ///< Written in kStarting only, as `origin`.
  Origin origin;
  std::atomic<std::uint32_t> threads;  ///< Thread indexes given out in this image.
  Segments segments;
  Intervals intervals;
  ProgramWishes program;
  Served served;
  Sleeper sleeper;
  Live live;
};

[[gnu::visibility("hidden")]] extern Image image;

/// The segment being written. Requires that the image has started.
[[nodiscard]] inline Segment& current_segment() {
  Segment* segment = image.segments.current.load(std::memory_order_acquire);
  GEIGER_ASSERT(segment != nullptr);
  return *segment;
}

/// Whether samples can be taken.
enum class Readiness : std::uint8_t {
  kNotRecording,
  kRecording,
  kJustStarted,  ///< By this call: earlier allocations are not part of the recording.
};

/// Starts the image at its first call in a process, and again in fork's child.
Readiness start_if_due();

/// 1 in the process that set it, 0 in a child by fork or by clone without CLONE_VM: its page is
/// wiped on fork. A child of vfork shares it, like the heap.
[[gnu::visibility("hidden")]] extern std::atomic<std::uint32_t>* is_own_process;

/// Begins an image with image.settings, in kStarting. False: not wanted, or no trace.
bool start_image(bool is_child);

/// The next action that a controller or a listening tool requests from a process that sleeps().
enum class Due : std::uint8_t {
  kNothing,
  kTrace,         ///< A recording for a controller.
  kToolEvents,    ///< A recording for tools.
  kEndRecording,  ///< The recording is no longer wanted.
};

/// Answers requests that need no change of state, and returns the action that is due: for
/// wake_up(), or for the caller to end the recording and call go_to_sleep().
[[nodiscard]] Due answer_calls();

/// Begins the recording that is due. False: another thread does, or it failed.
[[nodiscard]] bool wake_up(Due due);

/// Saves the settings of a sleeper, which each of its recordings starts with and may change.
void note_settings_asleep();

/// Whether this process records a trace, not only events for tools.
[[nodiscard]] bool is_recording_for_trace();

/// Whether this process sleeps now.
[[nodiscard]] bool is_asleep();

/// Claims the end of the recording for the calling thread. False: another thread ends it, or it has
/// ended.
[[nodiscard]] bool claim_end();

/// Puts a process that sleeps() back to sleep, after its recording ended on request.
void go_to_sleep();

/// For forks that do not run the C library's fork handlers: call the first before it, the second in
/// the child, whose next allocation then starts its image. Otherwise the rest of the calling
/// thread's countdown would pass unseen. No-op if the child shares its parent's memory.
void prepare_child();
void begin_child();

/// Starts an image on request: the first of this process, one after kDetached, or one of a sleeping
/// process, which sleeps again after detaching. 0, the errno of the trace, or base::kIsRecording.
int start_attached(const Settings& settings);
[[nodiscard]] bool can_attach_in(Phase phase);

/// Whether this process records. Unlike start_if_due(), starts nothing, so a fork's child that only
/// frees or exits leaves no trace. False after the trace stopped: counters then no longer measure
/// allocated bytes.
bool is_recording();

/// Whether recording is paused: bytes are tried, but nothing is recorded or counted.
[[nodiscard]] inline bool is_paused() {
  return image.program.is_held.load(std::memory_order_relaxed) ||
         current_segment().writer.control()->paused.load(std::memory_order_relaxed) != 0;
}

/// Changes the interval, for other threads from their next slow path on. The governor keeps
/// regulating it unless it is stopped.
/// False: not recording, no room in the trace, or not within [1, kMostInterval].
bool set_interval(std::uint64_t interval);

/// Called after a sample whose recording began at `begun`: lets the governor change the interval if
/// due.
void regulate_interval(Nanoseconds begun);

/// Sets the interval that children start with: set_interval() has no effect after a fork.
void set_own_interval(std::uint64_t interval);

/// Path of the allocator, from set_allocator_path().
extern const char* allocator_path;
/// From set_calls_privately().
extern bool calls_privately;

/// Adopts an interval that the control page asks for, in a new epoch.
void follow_control(Segment& segment);

/// The executable's path for module records, "" if unknown.
const char* executable_path();

/// The name the user started: the base name given to exec, which may be a link or a script.
const char* started_as();

}  // namespace geiger::capture
