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
#include "runtime/capture/settings.h"
#include "runtime/capture/stack_table.h"
#include "trace/writer.h"

namespace geiger::capture {

enum class Phase : std::uint32_t { kUninitialised, kStarting, kSampling, kOff };

/// The interval in force. A thread that meets a new one redraws its skip count.
struct Epoch {
  std::atomic<trace::Ref> ref;
  std::atomic<std::uint64_t> interval;
  std::atomic<double> lambda;
};

struct Image {
  std::atomic<Phase> phase;
  std::uint32_t number;  ///< 1 for the image of exec, +1 with every fork; live entries carry it.
  Settings settings;
  std::uint64_t seed;                  ///< Process seed of this image.
  std::atomic<std::uint32_t> threads;  ///< Thread indexes given out.
  std::atomic<std::uint32_t> modules_written;
  Epoch epoch;
  trace::Writer writer;
  StackTable stacks;
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

/// Path of the allocator, as set_allocator_path() was told.
extern const char* allocator_path;

/// Adopts an interval that the control page asks for, in a new epoch.
void follow_control();

/// The executable's path for module records, "" if unknown.
const char* executable_path();

}  // namespace geiger::capture
