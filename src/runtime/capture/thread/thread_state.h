// The runtime's state of a thread, and the registry of all states.
//
// A state is created at a thread's first slow path and is never freed. After its thread has ended
// another thread reuses it, but only once the old owner no longer exists in the kernel: until then
// it may allocate in its last destructors.
//
// Life of a state:
//
//   kFree --adopt--> kAdopting --> kLive --end_thread--> kFree
//                                    \--- fork's child: threads that are gone ---> kFree
//
// Only in kLive does `countdown` point into a thread that exists.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "runtime/capture/capture.h"
#include "sampling/samplers.h"
#include "trace/format.h"
#include "vocabulary/vocabulary.h"

namespace geiger::capture {

/// Value of `armed` while a slow path of the owner decides. Code in the same thread that sees it
/// has interrupted that slow path (a signal handler), or jumped out of it.
inline constexpr std::uint64_t kTaken = ~std::uint64_t{0};

struct InterpretedWalk;

/// The latest sampled objects of an interpreter (object_type.h).
struct NewObjects {
  struct Sample {
    const void* address;
    std::uint64_t value;  ///< In the live table; 0 = none.
  } samples[8];
  std::uint32_t next;
};

struct alignas(64) ThreadState {
  sampling::CounterSampler sampler;
  /// The value that the counter was last set to; kTaken while a slow path decides.
  std::atomic<std::uint64_t> armed;
  /// Bytes settled so far by all owners, recorded or not (interface.h).
  std::atomic<std::uint64_t> allocated;
  std::uint64_t allocated_before;         ///< Of those, by earlier owners.
  std::atomic<std::uint64_t> last_armed;  ///< Like `armed`, but never kTaken.
  /// Odd while a slow path changes the counter and the four above.
  std::atomic<std::uint32_t> settling;
  /// Bytes since `armed` was set that segments which ended since have as pending (checkpoint.cc).
  std::atomic<std::uint64_t> pending;
  /// Frame address of that slow path: a shallower frame means it was abandoned.
  const void* deciding_frame;
  /// Frame address of the slow path that uses `frames`, null if none.
  const void* walking_frame;
  trace::ThreadRecord* record;           ///< In the trace of `segment`.
  std::uint64_t* countdown;              ///< The owner's thread-local counter.
  std::uint32_t segment;                 ///< Number of the segment of its record; 0 = none.
  std::uint32_t generation;              ///< Of the image that gave it its index; 0 = none.
  std::uint32_t index;                   ///< Thread index in all traces of the image.
  Nanoseconds start;                     ///< Of its first slow path in this image.
  std::atomic<std::uint32_t> pin;        ///< Number of the segment in use, 0 = none (segment.h).
  const void* pin_frame;                 ///< Frame address of the slow path that uses it.
  /// Number of the segment in which a sample was decided that is not recorded yet; 0 = none.
  std::atomic<std::uint32_t> decided_in;
  std::atomic<trace::Ref> epoch;         ///< The epoch its skip count was drawn in, of `segment`.
  std::atomic<std::uint32_t> lifecycle;  ///< Lifecycle.
  std::atomic<std::uint32_t> reading;    ///< Threads reading the counter now: do not end yet.
  std::uint64_t tid;                     ///< Of the last owner; 0: it gave up the state.
  ThreadState* next;                     ///< Registry, newest first.
  bool is_foreign;                       ///< We did not see its start and will not see its end.
  bool is_ending;                        ///< Every further allocation settles at once.
  std::uint32_t nested_decisions;        ///< In a row, while `armed` was kTaken.
  bool is_telling;                       ///< Inside a listener (events.h).
  bool has_name;
  char name[16];
  InterpretedWalk* interpreted;      ///< Room for frames of an interpreter; null before the first.
  const std::uint64_t* last_frames;  ///< Of the last walk, in memory of this state.
  std::uint32_t last_count;
  /// At its last sample the thread ran an interpreter and held its lock, outside of any handler.
  bool holds_interpreter;
  NewObjects new_objects;
  std::uint64_t* deep_frames;  ///< kMaxFrames, instead of `frames`; null if never needed.
  std::uint64_t frames[vocabulary::kUsualFrames];
};

enum Lifecycle : std::uint32_t { kFree = 0, kAdopting = 1, kLive = 2 };

/// The id if the system call fails; no thread has it.
inline constexpr std::uint64_t kUnknownThread = (std::uint64_t{1} << 31) - 1;

/// The calling thread's id, or kUnknownThread.
std::uint64_t own_thread_id();

/// The calling thread's own state, or null if it has none yet.
GEIGER_FAST_PATH ThreadState* own_state() { return tls.state; }

/// A state for the calling thread of process `pid`: reused or new, without a
/// record. Null: no memory.
ThreadState* adopt_state(std::uint32_t pid);

/// Gives up the calling thread's state, which it may use until it ends.
void retire_state(ThreadState& state);

/// All states, newest first.
ThreadState* first_state();

/// Frees the states of threads that ended unseen.
void retire_gone(std::uint32_t pid);

/// Reads the counter of a thread whose end we would not have seen. kTaken: its memory is gone.
std::uint64_t counter_of_foreign(const ThreadState& state, std::uint32_t pid);

/// In fork's child: every state but `survivor` belongs to a thread that is gone.
void retire_all_but(const ThreadState* survivor);

}  // namespace geiger::capture
