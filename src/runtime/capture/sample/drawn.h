// The first step of a sample's way where the allocator draws by itself (docs/heap.md): it says
// which objects are samples, and no allocation of the process's heap is tried here.
//
//   totals    as ever: the countdown counts all bytes, as failed trials. What is told was counted
//   so
//             before, and is counted again by its verdict.
//   interval  goes on to the allocator with each epoch. A sample says at which it was drawn.
//   ends      are found by the filter, as ever; those that pass the runtime by are told.
//
// The runtime draws by itself in guard mode, which has to place what it draws; with `pure`, which
// the allocator does not know; and in a process that it was brought into, where calls pass it by.
//
// Threads / Signals / Fork: as capture.h. Allocates: never.
#pragma once

#include <cstdint>

#include "runtime/capture/capture.h"
#include "runtime/unwind/unwind.h"

namespace geiger::capture {

/// An allocator that draws.
struct DrawingAllocator {
  /// From now on with this interval; 0: nothing is told. `seed` 0: the generators go on.
  void (*draw)(std::uint64_t interval, std::uint64_t seed);
  unwind::AddressRange code;
  unwind::AddressRange runtime;  ///< Our own.
};
/// Once, before the first decide().
void set_drawing_allocator(const DrawingAllocator& allocator);

/// The image begins: whose draws count, and which.
void begin_allocator_draws();
/// The interval has changed.
void pass_interval_on();

/// An allocation that the allocator drew.
struct Drawn {
  Allocation allocation;
  std::uint64_t interval;
  std::uint64_t offset;
  bool is_certain;
};
/// Counts and records it. `inside`: a point in the allocator's call. Returns what was decided.
Decision record_drawn(const Drawn& drawn, const unwind::Registers& inside);

}  // namespace geiger::capture
