// The steps of a sample: decide, or take what the allocator has drawn; record it after the
// allocation; release it.
#pragma once

#include <cstdint>

#include "runtime/capture/capture.h"
#include "runtime/unwind/unwind.h"

namespace geiger::capture {

// The first step of a sample if the allocator itself draws (docs/internals/heap.md): it reports
// which objects are samples, and the runtime does not try allocations of the process's heap.
//
//   totals    the countdown counts all bytes as failed trials, as usual. A reported sample was
//             counted that way, and is then counted again by its verdict.
//   interval  is passed to the allocator with each epoch, and reported with each sample.
//   frees     are found by the filter, as usual; the allocator reports those that bypass us.
//
// The runtime draws instead in guard mode, which must place the samples; with `pure`, which the
// allocator does not support; and after attaching, when some calls bypass the runtime.
//
// Threads / Signals / Fork: as capture.h. Allocates: never.

/// An allocator that draws.
struct DrawingAllocator {
  /// Sets the interval; 0: stops reporting. `seed` 0: the generators keep their state.
  void (*draw)(std::uint64_t interval, std::uint64_t seed);
  /// Whether it keeps free memory, or returns it to the system after a while.
  void (*keep_memory)(bool keeps);
  unwind::AddressRange code;
  unwind::AddressRange runtime;  ///< The runtime's own code.
};
/// Once, before the first decide().
void set_drawing_allocator(const DrawingAllocator& allocator);

/// At the start of an image: decides whether the allocator draws, and starts or stops its draws.
void begin_allocator_draws();
/// While the program has no system calls (confinement.h), the allocator makes none unasked.
void keep_allocators_memory(bool keeps);
/// Passes a changed interval to the allocator.
void pass_interval_on();

/// An allocation that the allocator drew.
struct Drawn {
  Allocation allocation;
  std::uint64_t interval;
  std::uint64_t offset;
  bool is_certain;
};
/// Counts and records a drawn allocation. `inside`: a point in the allocator's call. Returns the
/// decision.
Decision record_drawn(const Drawn& drawn, const unwind::Registers& inside);

}  // namespace geiger::capture
