// Which thread has which heap: first calls, ends of threads, and fork.
//
// A pthread key's destructor tells that a thread ends. (The runtime's own trampoline in
// pthread_create is in another library, and does not see threads that libc starts itself.) Other
// destructors may run later and allocate: the thread then adopts a heap once more, and the key is
// set again.
//
// In the child of fork only the calling thread goes on. Heaps of the others may be torn anywhere:
//   - inside a slow path (`is_busy`): the heap is given up, with its free blocks; blocks of it can
//     still be freed, into an inbox that no thread reads
//   - between two instructions of a fast path: its lists and pages are recounted when it is adopted
// All heaps draw afresh, so that a child does not sample the bytes that its parent does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/attributes.h"
#include "runtime/heap/heap.h"

namespace geiger::heap {

/// The heap of a thread that has none: adopted or new. Null: no memory.
GEIGER_SLOW_PATH Heap* begin_thread();

/// Once: asks to be told of forks and of ends of threads. begin_thread() does so too, after the
/// thread has its heap, as these calls may allocate. Handlers of forks run in the reverse order of
/// their registration, and ours takes locks: it must come before those of programs, which may take
/// a lock under which other threads allocate.
void prepare_process();

/// Frees a block of `bytes` of another heap than this thread's: at once, or with the next ones.
void free_remote(Heap& heap, Block* block, std::size_t bytes);

/// Sends what free_remote() has kept back.
void send_outbox(Heap& heap);

/// How many forks this process is away from the one that started.
std::uint64_t forks();

/// Forever in the list of all heaps, newest first, linked by `next`.
Heap* all_heaps();
extern constinit std::atomic<Heap*> newest_heap;  ///< The first of them.

}  // namespace geiger::heap
