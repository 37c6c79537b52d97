// The functions that libgeiger.so calls in the capture of the same process.
//
// The preload library exports one symbol, a table of functions. Both libraries must come from one
// build: libgeiger.so compares the versions and does nothing if they differ.
//
// Threads / Signals / Fork: documented at each function's declaration. Ids and references of
// samples are valid in this process image; a child by fork has its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/capture/capture.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/program/custom_heap.h"
#include "runtime/capture/program/names.h"
#include "runtime/capture/sample/events.h"
#include "runtime/capture/thread/allocated_bytes.h"
#include "runtime/capture/thread/thread_local.h"

namespace geiger::capture {

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
