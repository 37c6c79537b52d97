// Assigns heaps to threads: first calls, ends of threads, and fork.
//
// A pthread key's destructor detects the end of a thread. (The runtime's own trampoline in
// pthread_create is in another library, and does not see threads that libc starts itself.) Other
// destructors may run later and allocate: then the thread adopts a heap again, and the key is set
// again.
//
// In the child of fork only the calling thread continues. Heaps of the others may be inconsistent:
//   - inside a slow path (`is_busy`): the heap is given up, with its free blocks; blocks of it can
//     still be freed, into an inbox that no thread reads
//   - between two instructions of a fast path: its lists and pages are recounted when it is adopted
// All heaps redraw, so that a child does not sample the same bytes as its parent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "heap/heap.h"

namespace geiger::heap {

/// Gives the calling thread a heap: adopted or new. Null: no memory.
GEIGER_SLOW_PATH Heap* begin_thread();

/// Registers handlers for forks and ends of threads, once. begin_thread() calls it too, after the
/// thread has its heap, because registering may allocate. Fork handlers run in reverse order of
/// registration, and ours takes locks: it must be registered before those of programs, which may
/// take a lock under which other threads allocate.
void prepare_process();

/// Frees a block of `bytes` of another thread's heap: at once, or together with later ones.
void free_remote(Heap& heap, Block* block, std::size_t bytes);

/// Sends the blocks that free_remote() has held back.
void send_outbox(Heap& heap);

/// Number of forks between the original process and this one.
std::uint64_t forks();

/// The list of all heaps, newest first, linked by `next`. Heaps are never removed.
Heap* all_heaps();
extern constinit std::atomic<Heap*> newest_heap;  ///< The first of them.

}  // namespace geiger::heap
