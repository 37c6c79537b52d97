// Heaps that the program manages itself: pools, arenas, memory of devices.
//
// The code that manages such a heap has its own sampler (a trial per byte, as for malloc) and
// reports the samples it drew. Thread totals and their check against the hits cover only the
// process's heap.
//
// Threads / Signals / Fork: as capture.h.
#pragma once

#include <cstdint>

#include "runtime/capture/capture.h"
#include "runtime/unwind/unwind.h"

namespace geiger::capture {

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

}  // namespace geiger::capture
