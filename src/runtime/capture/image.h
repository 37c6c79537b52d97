// The image being recorded: this process since exec or fork, with its trace.
//
// Phases, only downwards except for fork's child, which starts again:
//
//   kUninitialised -> kStarting -> kSampling
//                          \-----> kOff  (no settings, no trace, or nochildren)
//
// Zero-initialised is kUninitialised: the first slow path starts it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/units.h"
#include "runtime/capture/live_table.h"
#include "runtime/capture/number_table.h"
#include "runtime/capture/settings.h"
#include "trace/writer.h"

namespace geiger::capture {

enum class Phase : std::uint32_t { kUninitialised, kStarting, kSampling, kOff };

/// The interval in force. A thread that meets a new one redraws its skip count.
struct Epoch {
  std::atomic<trace::Ref> ref;  ///< Its record, which says what to draw with.
  std::atomic<std::uint64_t> interval;
};

struct Image {
  std::atomic<Phase> phase;
  std::uint32_t number;  ///< 1 for the image of exec, +1 with every fork; live entries carry it.
  Settings settings;
  std::uint64_t seed;                  ///< Process seed of this image.
  std::atomic<std::uint32_t> threads;  ///< Thread indexes given out.
  std::atomic<std::uint32_t> modules_written;
  Epoch epoch;
  std::atomic<std::uint64_t> own_interval;  ///< What a fork's child starts with.
  trace::Writer writer;
  NumberTable stacks;  ///< Hash -> StackRecord.
  NumberTable epochs;  ///< Interval -> an EpochRecord of it.
  /// The program wants nothing recorded for now, whatever the control page says.
  std::atomic<bool> is_held;
  /// The interval that the control page asked for last.
  std::atomic<std::uint64_t> followed;
  /// The request for slabs' utilization that was served last.
  std::atomic<std::uint32_t> utilization_served;
  LiveTable live;  ///< Inherited by fork's child, with the parent's image numbers.
};

[[gnu::visibility("hidden")]] extern Image image;

/// True when samples can be taken now; starts the image at its first call and
/// again in fork's child. `is_fresh` is set when this call started it.
bool ready(bool& is_fresh);

/// True when this process records: unlike ready(), starts nothing, so a fork's
/// child that only frees or exits leaves no trace. False after the trace stopped:
/// counters then no longer say what was allocated.
bool is_recording();

/// Bytes are put to trial, but nothing is recorded or counted.
[[nodiscard]] bool is_paused();

/// Longest interval that can be asked for: 1 TiB.
inline constexpr std::uint64_t kMostInterval = std::uint64_t{1} << 40;

/// Draws with another interval from here on; other threads from their next slow path.
/// False: not recording, no room in the trace, or not within [1, kMostInterval].
bool set_interval(std::uint64_t interval);

/// A record of this interval, in force or not, for samples that were drawn with it. 0: no
/// room in the trace, or not within [1, kMostInterval]. Requires is_recording().
[[nodiscard]] trace::Ref epoch_of_interval(std::uint64_t interval);

/// What children start with; as set_interval() does not outlast a fork.
void set_own_interval(std::uint64_t interval);

/// Path of the allocator, as set_allocator_path() was told.
extern const char* allocator_path;

/// Adopts an interval that the control page asks for, in a new epoch.
void follow_control();

/// The executable's path for module records, "" if unknown.
const char* executable_path();

}  // namespace geiger::capture
