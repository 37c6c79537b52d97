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

#include "base/units.h"
#include "runtime/capture/governor.h"
#include "runtime/capture/live_table.h"
#include "runtime/capture/segment.h"
#include "runtime/capture/settings.h"

namespace geiger::capture {

enum class Phase : std::uint32_t {
  kUninitialised,
  kStarting,
  kSampling,
  kOff,
  kDetached,
  kDormant,
};

/// Going on in the next segment, which one thread does at a time. A handler that jumps out of
/// it leaves it to whoever comes next.
struct Continuation {
  std::atomic<const ThreadState*> by;  ///< Null: nobody.
  const void* frame;                   ///< Of that thread.
  Segment* before;                     ///< What is carried from, once it may have a successor.
  std::uint64_t carried;               ///< Samples, so far.
  std::uint64_t lost;
};

struct Image {
  std::atomic<Phase> phase;
  /// Processes that this memory has belonged to: +1 in every child by fork.
  std::uint32_t generation;
  bool is_forked;
  std::uint32_t first_number;  ///< Of this image's segments.
  std::uint32_t last_number;   ///< Given to a segment.
  Settings settings;
  std::atomic<std::uint32_t> is_ending;         ///< 1: a thread ends the recording on request.
  std::uint64_t seed;                           ///< Process seed of this image.
  std::atomic<std::uint32_t> threads;           ///< Thread indexes given out.
  std::atomic<std::uint64_t> largest_interval;  ///< That anything was drawn with.
  std::atomic<std::uint64_t> own_interval;      ///< What a fork's child starts with.
  /// The program wants nothing recorded for now, whatever the control page says.
  std::atomic<bool> is_held;
  /// The program wants the stacks of frees too, of a recording in memory.
  std::atomic<bool> wants_free_stacks;
  /// The program reads traces while they are written (interface.h): old ones are of use.
  std::atomic<bool> is_read_within;
  /// The interval that the control page asked for last.
  std::atomic<std::uint64_t> followed;
  Governor governor;
  /// The tail of the segment when it doubled the interval by itself, 0 = not yet.
  std::atomic<std::uint64_t> doubled_at;
  /// The requests of the control page that were served last.
  std::atomic<std::uint32_t> utilization_served;
  std::atomic<std::uint32_t> residency_served;
  std::atomic<std::uint32_t> segment_served;
  Continuation continuation;
  std::uint32_t next_file;             ///< Number of the next trace's name.
  std::uint32_t files[kMostKept + 1];  ///< Of the last segments' names, by segment.
  std::atomic<Segment*> segment;       ///< The one that is written.
  Segment segments[kSegments];
  /// Live samples are kept track of with probability 2^-level (live_samples.h).
  std::atomic<std::uint32_t> thinning;
  /// Began in a running process: by attaching, when counters are never put to sleep for good
  /// as another image may follow, or when a sleeper was woken.
  bool is_attached;
  /// Woken by a tool that listens (sleep.cc): records for its events alone, in memory.
  std::atomic<bool> is_for_tools;
  int open_error;  ///< Of the last trace that could not be opened, 0 if none.
  LiveTable live;  ///< Inherited by fork's child, with the parent's segment numbers.
};

[[gnu::visibility("hidden")]] extern Image image;

/// True when samples can be taken now; starts the image at its first call and
/// again in fork's child. `is_fresh` is set when this call started it.
bool ready(bool& is_fresh);

/// 1 in the process that set it, 0 in a child made by fork or clone without
/// CLONE_VM: its page is wiped on fork. vfork shares it, as it shares the heap.
[[gnu::visibility("hidden")]] extern std::atomic<std::uint32_t>* is_own_process;

/// Begins an image of these settings, in kStarting. False: not wanted, or no trace.
bool start_image(bool is_child);

/// Of a process that sleeps(): wakes up where a controller wants a recording or a tool listens;
/// `is_fresh` as of ready(). True: nobody wants it any more, and the caller ends the recording and
/// goes to sleep.
[[nodiscard]] bool must_sleep(bool& is_fresh);

/// What a recording of a sleeper changes for itself is as it was at the next.
void note_settings_asleep();

/// Whether this process records for a controller or by itself, not only for tools.
[[nodiscard]] bool is_recording_for_trace();

/// Whether this process sleeps now.
[[nodiscard]] bool is_asleep();

/// Takes it upon the calling thread to end the recording. False: another does, or it has ended.
[[nodiscard]] bool claim_end();

/// The recording of a process that sleeps() has ended on request.
void go_to_sleep();

/// Around a fork of which the C library's fork handlers hear nothing: before it, and in the
/// child, whose next allocation then starts its image. Without, what is left of the calling
/// thread's countdown would pass unseen. No-op where the child shares its parent's memory.
void prepare_child();
void begin_child();

/// Starts an image by order, the first of this process or one after a kDetached. 0, the
/// errno of the trace, or base::kIsRecording.
int start_attached(const Settings& settings);

/// True when this process records: unlike ready(), starts nothing, so a fork's
/// child that only frees or exits leaves no trace. False after the trace stopped:
/// counters then no longer say what was allocated.
bool is_recording();

/// Bytes are put to trial, but nothing is recorded or counted.
[[nodiscard]] bool is_paused();

/// Draws with another interval from here on; other threads from their next slow path. One that
/// regulates itself goes on to do so, unless the governor is stopped.
/// False: not recording, no room in the trace, or not within [1, kMostInterval].
bool set_interval(std::uint64_t interval);

/// Of an interval that regulates itself, after a sample that has been recorded since `begun`:
/// changes the interval if it is time.
void regulate_interval(Nanoseconds begun);

/// What children start with; as set_interval() does not outlast a fork.
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
