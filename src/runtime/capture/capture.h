// The slow path: what happens to the one allocation in T bytes that is drawn. This header is what
// the interposer calls; the parts of the room are named after what they hold, and how long it
// lives:
//
//   tables/    memory and lock-free tables that know nothing of what is in them
//   thread/    a thread's counter, its state, how it joins the recording and leaves it
//   image/     the process image: settings, phases, segments of its trace, interval, end
//   sample/    the way of one sample, and of its free
//   program/   what the program says by itself: names, custom heaps, mappings; the table of
//              functions for libgeiger.so
//   control/   what is asked from outside: attaching, sleeping and waking, requests, confinement
//
// A sample goes in one direction, a file for each step:
//
//   sample/decide.cc         settle the counter, try the allocation, arm again
//    +- image/image.cc         first use: read settings, open the trace; fork's child: anew
//    +- thread/enrolment.cc    first slow path of a thread: adopt a state, write its record
//    +- thread/settling.cc     the counter and the thread's totals
//   sample/record.cc         after the allocator has answered
//    +- sample/record_stack.cc walk the stack, write it once
//    +- sample/write.cc        the sample -> trace, or its tally
//    +- sample/live_samples.cc track it: live table, filter
//   sample/drawn.cc          the first step where the allocator draws by itself
//   sample/release.cc        a free that the filter let through: live table -> trace;
//                            take / settle_taken / put_back are its halves, for realloc
//   thread/thread_life.cc    begin_thread / end_thread, from the thread trampoline
//
// Whatever fails inside switches sampling off (trace::StopReason) and lets the
// program go on; nothing here aborts, waits, locks or writes to a descriptor of
// the program.
//
// Threads: lock-free throughout. Signals: a handler may allocate and free while
// its thread is in here; what it allocates during the few instructions of
// decide() itself is not sampled and counted as dropped. siglongjmp out of here
// is noticed at the next slow path. Fork: the child starts an image of its own.
// Allocates: never through malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "runtime/capture/program/names.h"
#include "runtime/capture/tables/filter.h"
#include "runtime/capture/thread/thread_local.h"
#include "runtime/unwind/unwind.h"
#include "trace/format.h"

namespace geiger::capture {

struct Segment;

/// The result of decide(), which record() needs.
struct Decision {
  ThreadState* state = nullptr;
  std::uint64_t offset = 0;
  trace::Ref epoch = 0;
  std::uint64_t interval = 0;  ///< Of the epoch: what `epoch` is in another segment.
  std::uint32_t segment = 0;   ///< Number of the one that `epoch` is in.
  bool is_sample = false;
  bool is_certain = false;
  bool is_tried = false;    ///< Was counted as failed trials: the allocator draws (drawn.h).
  bool is_counted = false;  ///< Went into the thread's totals (not paused).
};

/// One allocation that succeeded.
struct Allocation {
  const void* address;
  Bytes requested;
  Bytes usable;
  trace::EntryPoint entry_point;
  std::size_t alignment;   ///< 0 or 1: the allocator's own.
  std::uint16_t heap = 0;  ///< 0: the process's own; else one that the program manages.
};

/// Where an allocation is from.
enum class Memory : std::uint8_t {
  kAllocator,  ///< malloc, which may draw by itself (drawn.h): then it is never a sample here.
  kPool,       ///< Of an interpreter.
};

/// Called when exhausts(size) said so, before the allocator is: settles the bytes
/// since the last time, decides this allocation and arms the counter again.
Decision decide(Bytes size, Memory memory = Memory::kAllocator);

/// The allocation that was decided failed. A certain one leaves the totals again. A
/// tried one stays: the fast path counts failed requests too, and taking out only
/// those that were drawn would make the hits too few.
void retract(const Decision& decision, Bytes size);

/// Records a decided sample. No-op unless decision.is_sample.
void record(const Decision& decision, const Allocation& allocation,
            const unwind::Registers& caller);

/// The program frees `address` (or is about to): if it is a live sample, removes
/// and records it. Call before the allocator gets the address.
void release(const void* address, const unwind::Registers& caller);

/// The key of an allocation in the live table and the filter: heaps that the program manages may
/// use the same addresses. Addresses have 48 bits.
[[nodiscard]] inline const void* key_of(const void* address, std::uint16_t heap) {
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(address) |
                                       std::uintptr_t{heap} << 48);
}

/// Removes a live sample without recording; 0 if `address` is not that of one.
std::uint64_t take(const void* address);
/// The realloc succeeded: the sample that take() removed is freed.
void settle_taken(std::uint64_t taken, const unwind::Registers& caller);
/// The realloc failed: the sample lives on.
void put_back(const void* address, std::uint64_t taken);

/// The calling thread starts in our trampoline, so its end will be seen too.
void begin_thread();
/// The calling thread's own code has ended. Destructors may still allocate: those
/// bytes settle one by one.
void end_thread();

/// Path of the module that provides malloc, for the trace's header. Set once,
/// before the first decide(); must stay valid.
void set_allocator_path(const char* path);

}  // namespace geiger::capture
