#include "heap/pages.h"

#include <algorithm>

#include "base/check.h"
#include "heap/allocator.h"
#include "heap/segments.h"
#include "heap/system.h"

namespace geiger::heap {

void Bin::push(Page& page) {
  page.previous = nullptr;
  page.next = first;
  (first != nullptr ? first->previous : last) = &page;
  first = &page;
  page.state = PageState::kPartial;
}

void Bin::remove(Page& page) {
  (page.previous != nullptr ? page.previous->next : first) = page.next;
  (page.next != nullptr ? page.next->previous : last) = page.previous;
}

namespace {

// Carved at once, at least one block, so that memory not needed yet stays untouched.
constexpr std::size_t kCarveBytes = 4096;

/// If fewer are free, refilling from a page costs more than it saves.
std::uint32_t eighth_of(const Page& page) { return (page.capacity + 7U) / 8; }

Page* new_page(Heap& heap, unsigned size_class) {
  const unsigned slots = slots_of_page(size_class);
  bool is_zero = false;
  Page* const page = segments.take_slots(slots, kSlotBytes, &is_zero);
  if (page == nullptr) return nullptr;
  page->local_free = nullptr;
  page->needed = page->base = 0;
  page->heap = &heap;
  page->sampled.store(nullptr, std::memory_order_relaxed);
  page->carved = 0;
  page->capacity = static_cast<std::uint16_t>(blocks_of_page(size_class));
  page->size_class = static_cast<std::uint8_t>(size_class);
  for (unsigned i = 0; i < slots; ++i) {
    page[i].back = static_cast<std::uint8_t>(i);
    page[i].owner.store(slots == 1 ? heap.as_owner() : std::uintptr_t{kMedium},
                        std::memory_order_relaxed);
  }
  return page;
}

void give_page(Page& page) {
  GEIGER_ASSERT(page.sampled.load(std::memory_order_relaxed) == nullptr);
  segments.give_slots(page);
}

/// Makes a list of new blocks at the end of the carved part.
Block* carve(Page& page, std::uint32_t* count) {
  const std::size_t size = block_size(page.size_class);
  *count = std::clamp<std::uint32_t>(static_cast<std::uint32_t>(kCarveBytes / size), 1,
                                     page.capacity - page.carved);
  std::byte* const start = slot_of(&page) + page.carved * size;
  for (std::uint32_t i = 0; i + 1 < *count; ++i) {
    reinterpret_cast<Block*>(start + i * size)->next =
        reinterpret_cast<Block*>(start + (i + 1) * size);
  }
  reinterpret_cast<Block*>(start + (*count - 1) * size)->next = nullptr;
  page.carved = static_cast<std::uint16_t>(page.carved + *count);
  return reinterpret_cast<Block*>(start);
}

/// Moves the page's blocks to the empty list. False: fewer than an eighth are free, and none can be
/// carved.
bool install_from(Heap& heap, Page& page) {
  List& list = heap.lists[page.size_class];
  std::uint32_t count = page.free_blocks();
  if (count >= eighth_of(page)) {
    list.head = page.local_free;
    page.local_free = nullptr;
    page.base = page.needed = Page::kNoEvent;
  } else if (page.carved < page.capacity) {
    list.head = carve(page, &count);
  } else {
    return false;
  }
  heap.sampler.install(list, count);
  return true;
}

/// Gives the page back, unless it is the only one that the next refill can use: otherwise a program
/// that frees as much as it allocates would carve new pages all the time.
void keep_or_give(Page& page) {
  Bin& bin = page.heap->bins[page.size_class];
  if (bin.first == bin.last) return;
  bin.remove(page);
  give_page(page);
}

// A kept empty page is given back after one or two times this many refills of any list.
constexpr std::uint64_t kSpareRefills = 128;

/// Gives back the kept empty pages: all, or those that the last call has seen.
void give_spares(Heap& heap, bool all) {
  for (Bin& bin : heap.bins) {
    Page* const page = bin.first;
    if (page == nullptr || page->free_blocks() != page->carved) continue;
    if (!all && page->state != PageState::kSpare) {
      page->state = PageState::kSpare;
      continue;
    }
    bin.remove(*page);
    give_page(*page);
  }
}

void leave_full(Page& page) {
  page.heap->bins[page.size_class].push(page);
  page.expect(page.carved);
}

/// Returns a block that another thread freed to its page. False: none.
bool take_arrived(Heap& heap) {
  if (heap.arrived == nullptr) {
    if (heap.inbox.load(std::memory_order_relaxed) == nullptr) return false;
    // Pairs with the release of push_to_inbox().
    heap.arrived = heap.inbox.exchange(nullptr, std::memory_order_acquire);
  }
  Block* const block = heap.arrived;
  heap.arrived = block->next;
  free_local(*first_slot(page_of(block)), block);
  return true;
}

// Fewest blocks to take from the inbox at each refill.
constexpr unsigned kArrivals = 256;

/// Takes blocks that other threads freed until the class has enough. Each block is a cache miss,
/// and blocks not needed now would be evicted again before they are.
void drain_for(Heap& heap, unsigned size_class) {
  const Bin& bin = heap.bins[size_class];
  for (unsigned taken = 0; take_arrived(heap); ++taken) {
    if (taken < kArrivals) continue;
    if (bin.first != nullptr) return;
    if (bin.current != nullptr && bin.current->free_blocks() >= eighth_of(*bin.current)) return;
  }
}

}  // namespace

bool refill(Heap& heap, unsigned size_class) {
  GEIGER_ASSERT(heap.is_busy.load(std::memory_order_relaxed));
  drain_for(heap, size_class);
  if (++heap.refills % kSpareRefills == 0) give_spares(heap, false);
  Bin& bin = heap.bins[size_class];
  if (bin.current != nullptr) {
    if (install_from(heap, *bin.current)) return true;
    bin.current->state = PageState::kFull;
    bin.current->expect(eighth_of(*bin.current));
    bin.current = nullptr;
  }
  Page* page = bin.first;
  if (page != nullptr) {
    bin.remove(*page);
  } else {
    page = new_page(heap, size_class);
    if (page == nullptr) return false;
  }
  page->state = PageState::kCurrent;
  page->expect(Page::kNoEvent);
  bin.current = page;
  return install_from(heap, *page);
}

void page_event(Page* page) {
  const Busy busy(*page->heap);
  GEIGER_ASSERT(page->state == PageState::kFull || page->state == PageState::kPartial);
  if (page->state == PageState::kFull) {
    leave_full(*page);
    return;
  }
  keep_or_give(*page);
}

void free_local(Page& page, Block* block) {
  GEIGER_ASSERT(page.heap != nullptr);
  block->next = page.local_free;
  page.local_free = block;
  if (--page.needed == 0) page_event(&page);
}

void drain_inbox(Heap& heap) {
  while (take_arrived(heap)) {
  }
}

void give_empty_pages(Heap& heap) {
  give_spares(heap, true);
  for (unsigned size_class = 0; size_class < kClasses; ++size_class) {
    Bin& bin = heap.bins[size_class];
    List& list = heap.lists[size_class];
    Page* const page = bin.current;
    if (page == nullptr || page->free_blocks() + list.listed() != page->carved) continue;
    heap.sampler.withdraw(list, list.listed());
    list.head = nullptr;
    bin.current = nullptr;
    give_page(*page);
  }
}

// --- after a fork in the middle of something ---

namespace {

std::uint32_t length_of(const Block* block) {
  std::uint32_t length = 0;
  for (; block != nullptr; block = block->next) ++length;
  return length;
}

bool is_page_of(const Page& page, const Heap& heap) {
  const std::uintptr_t owner = page.owner.load(std::memory_order_relaxed);
  return page.heap == &heap && page.back == 0 &&
         (owner == heap.as_owner() || owner == kMedium || owner == kHasSamples);
}

/// Calls visit(Page&) for the heap's pages until it returns true; returns that page, else null.
template <typename Visit>
Page* find_page(const Heap& heap, const Visit& visit) {
  const Locked locked(segments.lock);
  Page* found = nullptr;
  segments.for_each_segment([&](Segment& segment) {
    for (std::size_t slot = 1; slot < kSlots && found == nullptr; ++slot) {
      Page& page = reinterpret_cast<Page*>(&segment)[slot];
      const bool is_used = (segment.empty >> slot & 1) == 0;
      if (is_used && is_page_of(page, heap) && visit(page)) found = &page;
    }
  });
  return found;
}

}  // namespace

void recount(Heap& heap) {
  const Busy busy(heap);
  heap.outbox = {};  // Perhaps sent, perhaps not.
  for (List& list : heap.lists) {
    const std::uint32_t count = length_of(static_cast<Block*>(list.head));
    if (list.listed() > count) heap.sampler.withdraw(list, list.listed() - count);
    if (list.listed() < count) heap.sampler.install(list, count - list.listed());
  }
  find_page(heap, [](Page& page) {
    page.needed = page.base - static_cast<std::int32_t>(length_of(page.local_free));
    return false;
  });
  // Events that the last free of a page did not reach. They take the lock themselves.
  const auto is_due = [](const Page& page) {
    return page.needed == 0 && page.state == PageState::kFull;
  };
  while (Page* const page = find_page(heap, is_due)) page_event(page);
}

}  // namespace geiger::heap
