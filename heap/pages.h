// Pages of small and medium blocks: how a heap refills its lists and takes blocks back.
#pragma once

#include "base/check.h"
#include "heap/heap.h"

namespace geiger::heap {

/// Refills the empty list of a class with freed or newly carved blocks. False: no memory. Requires
/// that the thread owns the heap and is Busy.
bool refill(Heap& heap, unsigned size_class);

/// Like a free on the fast path, for a page whose owner word may be a mark. Requires that the
/// thread owns page.heap.
void free_local(Page& page, Block* block);

/// Takes back all blocks that other threads freed.
void drain_inbox(Heap& heap);

/// Gives back pages without live objects, even those whose blocks are on the heap's lists.
void give_empty_pages(Heap& heap);

/// Makes counts match lists, for a heap whose thread disappeared in the middle of a fast path.
void recount(Heap& heap);

}  // namespace geiger::heap
