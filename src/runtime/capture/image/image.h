// The image being recorded: this process since exec or fork, with its trace.
//
// Phases, only downwards except for fork's child, which starts again:
//
//   kUninitialised -> kStarting -> kSampling -> kDetached  (by order; may start again)
//                          \-----> kOff  (no settings, no trace, or nochildren)
//
// A process that sleeps until it is called (dormancy.h) is kDormant where others are kOff, and
// goes from there to kSampling and back, through kStarting.
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

/// Where this image comes from. Written in kStarting, before other threads can record; read by
/// all. Lives until the next image of the process.
struct Origin {
  /// Images that this memory has held: +1 in every child by fork.
  std::uint32_t generation;
  std::uint64_t seed;  ///< Process seed.
  bool is_forked;
  /// Began in a running process: by attaching, when counters are never put to sleep for good
  /// as another image may follow, or when a sleeper was woken.
  bool is_attached;
  /// The allocator draws the samples of the process's heap (drawn.h).
  bool is_drawn_by_allocator;
};

/// Going on in the next segment, which one thread does at a time. A handler that jumps out of it
/// leaves it to the next thread that comes.
struct Continuation {
  std::atomic<const ThreadState*> by;  ///< Null: no thread.
  const void* frame;                   ///< Of that thread.
  Segment* before;                     ///< What is carried from, once it may have a successor.
  std::uint64_t carried;               ///< Samples, so far.
  std::uint64_t lost;
};

/// The traces of the image. Written by the thread that opens one, in kStarting or by a claimed
/// continuation; `current` is what all others read. The numbers outlive the image: children by
/// fork go on from them.
struct Segments {
  std::atomic<Segment*> current;       ///< The one that is written.
  std::uint32_t first_number;          ///< Of this image's segments.
  std::uint32_t last_number;           ///< Given to a segment.
  std::uint32_t next_file;             ///< Number of the next trace's name.
  std::uint32_t files[kMostKept + 1];  ///< Of the last segments' names, by segment.
  int open_error;                      ///< Of the last trace that could not be opened, 0 if none.
  Continuation continuation;
  Segment places[kSegments];
};

/// The intervals that samples are drawn with. Any thread may change them, by atomic operations.
struct Intervals {
  std::atomic<std::uint64_t> own;       ///< What a fork's child starts with; outlives the image.
  std::atomic<std::uint64_t> largest;   ///< That anything was drawn with.
  std::atomic<std::uint64_t> followed;  ///< What the control page asked for last.
  /// The tail of the segment when it doubled the interval by itself, 0 = not yet.
  std::atomic<std::uint64_t> doubled_at;
  Governor governor;

  void start(std::uint64_t share);
};

/// The program's requests through the API (interface.h). Outlives the image.
struct ProgramWishes {
  /// Nothing recorded for now, whatever the control page says.
  std::atomic<bool> is_held;
  /// The stacks of frees too, of a recording in memory.
  std::atomic<bool> wants_free_stacks;
  /// To read traces while they are written: old ones are of use.
  std::atomic<bool> reads_traces;
};

/// The requests of the control page that were served last, each by the thread that claimed it.
struct Served {
  std::atomic<std::uint32_t> utilization;
  std::atomic<std::uint32_t> residency;
  std::atomic<std::uint32_t> segment;

  void start();
};

/// The state of a process that sleeps (sleep.cc).
struct Sleeper {
  std::atomic<std::uint32_t> is_ending;  ///< 1: a thread ends the recording on request.
  /// Woken by a tool that listens: records for its events alone, in memory.
  std::atomic<bool> is_for_tools;
};

/// The samples that live (live_samples.h). Inherited by fork's child, with its parent's segment
/// numbers.
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

/// The segment that is written. Requires that the image has started.
[[nodiscard]] inline Segment& current_segment() {
  Segment* segment = image.segments.current.load(std::memory_order_acquire);
  GEIGER_ASSERT(segment != nullptr);
  return *segment;
}

/// Whether samples can be taken.
enum class Readiness : std::uint8_t {
  kNotRecording,
  kRecording,
  kJustStarted,  ///< By this call: what was allocated before is not part of the recording.
};

/// Starts the image at its first call in a process, and again in fork's child.
Readiness start_if_due();

/// 1 in the process that set it, 0 in a child made by fork or clone without
/// CLONE_VM: its page is wiped on fork. vfork shares it, as it shares the heap.
[[gnu::visibility("hidden")]] extern std::atomic<std::uint32_t>* is_own_process;

/// Begins an image of these settings, in kStarting. False: not wanted, or no trace.
bool start_image(bool is_child);

/// The next action that a controller, or a tool that listens, wants of a process that sleeps().
enum class Due : std::uint8_t {
  kNothing,
  kTrace,         ///< A recording for a controller.
  kToolEvents,    ///< A recording for tools.
  kEndRecording,  ///< The recording is no longer wanted.
};

/// Answers a request for what is so already, and returns what else is due: for wake_up(), or
/// for the caller to end the recording and to go_to_sleep().
[[nodiscard]] Due answer_calls();

/// Begins the recording that is due. False: another thread does, or it was refused.
[[nodiscard]] bool wake_up(Due due);

/// Notes the settings that a recording of a sleeper may change, so that the next one begins with
/// them.
void note_settings_asleep();

/// Whether this process records for a controller or by itself, not only for tools.
[[nodiscard]] bool is_recording_for_trace();

/// Whether this process sleeps now.
[[nodiscard]] bool is_asleep();

/// Takes it upon the calling thread to end the recording. False: another does, or it has ended.
[[nodiscard]] bool claim_end();

/// The recording of a process that sleeps() has ended on request.
void go_to_sleep();

/// Called around a fork that does not run the C library's fork handlers: before it, and in the
/// child, whose next allocation then starts its image. Otherwise what is left of the calling
/// thread's countdown would pass unseen. No-op where the child shares its parent's memory.
void prepare_child();
void begin_child();

/// Starts an image by order, the first of this process or one after a kDetached, or of a process
/// that sleeps, which goes to sleep again when it is detached from. 0, the errno of the trace, or
/// base::kIsRecording.
int start_attached(const Settings& settings);
[[nodiscard]] bool can_attach_in(Phase phase);

/// True when this process records: unlike start_if_due(), starts nothing, so a fork's
/// child that only frees or exits leaves no trace. False after the trace stopped:
/// counters then no longer say what was allocated.
bool is_recording();

/// Bytes are tried, but nothing is recorded or counted.
[[nodiscard]] inline bool is_paused() {
  return image.program.is_held.load(std::memory_order_relaxed) ||
         current_segment().writer.control()->paused.load(std::memory_order_relaxed) != 0;
}

/// Draws with another interval from here on; other threads from their next slow path. One that
/// regulates itself goes on to do so, unless the governor is stopped.
/// False: not recording, no room in the trace, or not within [1, kMostInterval].
bool set_interval(std::uint64_t interval);

/// Called after a sample whose recording began at `begun`: changes a self-regulating interval if it
/// is time.
void regulate_interval(Nanoseconds begun);

/// Sets the interval that children start with, as set_interval() does not outlast a fork.
void set_own_interval(std::uint64_t interval);

/// Path of the allocator, as set_allocator_path() was told.
extern const char* allocator_path;

/// Adopts an interval that the control page asks for, in a new epoch.
void follow_control(Segment& segment);

/// The executable's path for module records, "" if unknown.
const char* executable_path();

/// What the user started: the base name given to exec, also of a link or a script.
const char* started_as();

}  // namespace geiger::capture
