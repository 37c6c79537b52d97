// Pages of small and medium blocks: how a heap refills its lists and takes blocks back.
#pragma once

#include "base/attributes.h"
#include "runtime/heap/heap.h"

namespace geiger::heap {

/// Puts blocks on the used-up list of a class: freed ones, or newly carved. False: no memory.
/// Requires that the thread has the heap, and is Busy.
bool refill(Heap& heap, unsigned size_class);

/// As a free on the fast path, for a page whose owner word may be a mark. Requires that the thread
/// has page.heap.
void free_local(Page& page, Block* block);

/// Takes back what other threads freed.
void drain_inbox(Heap& heap);

/// Gives back pages without live objects whose blocks are on the heap's lists.
void give_empty_pages(Heap& heap);

/// Makes counts agree with lists, for a heap whose thread is gone in the middle of a fast path.
void recount(Heap& heap);

}  // namespace geiger::heap
