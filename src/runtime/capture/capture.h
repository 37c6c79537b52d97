// What the entry points use: the counter of the fast path, and the functions of the slow path.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/units.h"
#include "runtime/capture/program/names.h"
#include "runtime/capture/tables/filter.h"
#include "runtime/capture/tables/machine.h"
#include "runtime/unwind/unwind.h"
#include "trace/format.h"

namespace geiger::capture {

// The data of the allocation's fast path: one thread-local counter. (The fast path of free uses
// only the filter: filter.h.)
//
//   allocate(size):  countdown -= size; below 0, or no bytes?  -> slow path   (5 instructions on
//                                                                  x86-64)
//   free(p):         is the filter's slot marked?              -> slow path   (6)
//
// Invariant of the counter. Let armed be the value last stored and c the value
// now: armed - c bytes were allocated since, none of them sampled. An allocation
// of s bytes takes the slow path when s > c: a drawn byte (or the cap
// T - 1 that catches certain objects) lies inside it. s == c fits, is not sampled and leaves 0.
// s == 0, an allocation without bytes, always takes it, because it leaves no sign in the counter:
// it has a trial of its own (docs/internals/estimators.md, section 2.2). Zero-initialised, the
// counter sends the first allocation of a thread to the slow path, where the thread joins the
// recording.

struct ThreadState;

/// The program's names for the thread's next allocations, as ids (names.h).
struct Naming {
  std::uint32_t label;  ///< 0 = none.
  std::uint32_t type;   ///< Of the current allocation, 0 = not given.
};

/// The current call, if the allocator draws and we call a different function, or request more
/// bytes, than the program did, or the memory is not the program's.
struct Asked {
  const void* frame;  ///< Our frame; null: the program called malloc with the same size.
  std::uint64_t bytes;
  trace::EntryPoint entry_point;
  bool is_own;  ///< For libgeiger.so itself: not a sample.
};

/// Initial-exec, plain data, no destructor: valid in every phase of a thread.
struct ThreadLocal {
  std::uint64_t countdown;
  ThreadState* state;
  /// Top of this thread's stack, 0 if we did not see its start.
  std::uint64_t stack_high;
  /// Frame that asks the allocator for a usable size, null if none: tcmalloc allocates in the first
  /// such call.
  const void* sizing_frame;
  Naming naming;
  Asked asked;
};
static_assert(sizeof(ThreadLocal) <= 64);

[[gnu::tls_model("initial-exec"),
  gnu::visibility("hidden")]] extern constinit thread_local ThreadLocal tls;

using machine::exhausts;

/// Tries `size` bytes: true when the slow path must decide.
GEIGER_FAST_PATH bool exhausts(std::uint64_t size) { return exhausts(tls.countdown, size); }

/// Swaps the counter atomically with respect to signals.
GEIGER_FAST_PATH std::uint64_t exchange_countdown(std::uint64_t value) {
  return std::atomic_ref(tls.countdown).exchange(value, std::memory_order_relaxed);
}

// The slow path: handles the one allocation in T bytes that is drawn. The interposer calls the
// functions of this header. Folders are named after what they contain, and its lifetime:
//
//   tables/    memory and lock-free tables, independent of their contents
//   thread/    a thread's counter, its state, how it joins the recording and leaves it
//   image/     the process image: settings, phases, segments of its trace, interval, end
//   sample/    the path of a sample, and of its free
//   program/   what the program reports: names, custom heaps, mappings; the table of
//              functions for libgeiger.so
//   control/   what comes from outside: attaching, sleeping and waking, requests, confinement
//
// A sample passes these files in order:
//
//   sample/sample.cc         settle the counter, try the allocation, arm again
//    +- image/image.cc         first use: read settings, open the trace; again in fork's child
//    +- thread/enrolment.cc    first slow path of a thread: adopt a state, write its record
//    +- thread/settling.cc     the counter and the thread's totals
//   sample/sample.cc         after the allocator has returned
//    +- sample/record_stack.cc walk the stack, write it once
//    +- sample/write.cc        the sample -> trace, or its tally
//    +- sample/live_samples.cc track it: live table, filter
//   sample/sample.cc          the first step if the allocator itself draws
//   sample/sample.cc        a free that the filter let through: live table -> trace;
//                            take / settle_taken / put_back are its halves, for realloc
//   thread/enrolment.cc    begin_thread / end_thread, from the thread trampoline
//
// A failure stops sampling (trace::StopReason), and the program goes on; nothing here aborts,
// locks, writes to a descriptor of the program, or waits but at the exit (control/exit_scan.h).
//
// Threads: lock-free throughout. Signals: a handler may allocate and free while
// its thread is in here; its allocations during the few instructions of decide() itself are not
// sampled, but counted as dropped. siglongjmp out of here is noticed at the next slow path. Fork:
// the child starts an image of its own.
// Allocates: never through malloc.

struct Segment;

/// The result of decide(), which record() needs.
struct Decision {
  ThreadState* state = nullptr;
  std::uint64_t offset = 0;
  trace::Ref epoch = 0;
  std::uint64_t interval = 0;  ///< Of the epoch; finds its record in another segment.
  std::uint32_t segment = 0;   ///< Number of the segment that contains `epoch`.
  bool is_sample = false;
  bool is_certain = false;
  bool is_tried = false;    ///< Counted as failed trials: the allocator draws (sample.h).
  bool is_counted = false;  ///< Added to the thread's totals (not paused).
};

/// One allocation that succeeded.
struct Allocation {
  const void* address;
  Bytes requested;
  Bytes usable;
  trace::EntryPoint entry_point;
  std::size_t alignment;   ///< 0 or 1: the allocator's own.
  std::uint16_t heap = 0;  ///< 0: the process's heap; else a custom heap.
};

/// The source of an allocation.
enum class Memory : std::uint8_t {
  kAllocator,  ///< malloc. If it draws samples itself (sample.h), none is drawn here.
  kPool,       ///< An interpreter's small objects.
};

/// Called if exhausts(size), before the allocator: settles the bytes since the last call, decides
/// this allocation and arms the counter again.
Decision decide(Bytes size, Memory memory = Memory::kAllocator);

/// Call if the allocator fails after decide(). Removes a certain allocation from the totals. A
/// tried one stays: the fast path counts failed requests too, and removing only the drawn ones
/// would make the hits too few.
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

/// Removes a live sample without recording its free; 0 if there is none at `address`.
std::uint64_t take(const void* address);
/// After a successful realloc: records the free of the sample that take() removed.
void settle_taken(std::uint64_t taken, const unwind::Registers& caller);
/// After a failed realloc: the sample is live again.
void put_back(const void* address, std::uint64_t taken);

/// The calling thread starts in our trampoline, so its end will be seen too.
void begin_thread();
/// The calling thread's own code has ended. Destructors may still allocate: those
/// bytes settle one by one.
void end_thread();

/// Path of the module that provides malloc, for the trace's header. Set once,
/// before the first decide(); must stay valid.
void set_allocator_path(const char* path);
/// The program may allocate and free by functions of the allocator that are not standard. Likewise.
void set_calls_privately();

}  // namespace geiger::capture
