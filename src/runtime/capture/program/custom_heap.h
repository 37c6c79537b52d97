// Heaps that the program manages itself: pools, arenas, memory of devices.
//
// Code that manages such a heap has a sampler of its own (a trial per byte, as for malloc) and
// reports the samples it drew. Totals of threads and their check against the hits cover the
// process's heap alone.
//
// Threads / Signals / Fork: as capture.h.
#pragma once

#include <cstdint>

#include "runtime/capture/capture.h"
#include "runtime/unwind/unwind.h"

namespace geiger::capture {

/// The rate to draw with, and the image and epoch that it belongs to. A sample that was drawn with
/// another image's or epoch's rate is reported with that.
struct Rate {
  std::uint64_t interval;  ///< T, bytes.
  double lambda;
  trace::Ref epoch;
  std::uint32_t image;    ///< Number of the segment of `epoch`; 0: nothing is recorded.
  std::uint32_t process;  ///< Number of the first segment of the process.
  bool is_pure;           ///< Nothing is certain.
};
/// Starts the image if this is a fork's child that has not allocated yet.
[[nodiscard]] Rate current_rate();

/// The rate of `interval`, for a caller that drew with an interval which is no longer in force, or
/// never was. Image 0 also where it cannot be recorded.
[[nodiscard]] Rate rate_of_interval(std::uint64_t interval);

/// An allocation that the reporter drew.
struct Report {
  NameId heap = 0;            ///< Defined with NameKind::kHeap and its number as owner.
  NameId type = 0;            ///< 0: none, or that in force in the thread.
  std::uint64_t address = 0;  ///< Below 2^48.
  Bytes requested = 0;
  Bytes usable = 0;
  std::size_t alignment = 0;
  std::uint64_t offset = 0;
  Rate rate;
  bool is_certain = false;
  unwind::Registers caller{};  ///< Where the stack begins: in the program, not in its reporter.
};

enum class Reported { kYes, kNotRecording, kOtherImage, kWrongHeap, kWrongAddress };

/// Records a drawn allocation. Nothing is recorded while paused, which is not an error (kYes).
Reported report_sample(const Report& report);

/// An allocation of a custom heap is gone: records that if it is a live sample. Cheap when it is
/// not. kWrongHeap for an id that is not a heap's.
Reported report_free(NameId heap, std::uint64_t address, const unwind::Registers& caller);

}  // namespace geiger::capture
