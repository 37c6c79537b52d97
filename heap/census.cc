#include "heap/census.h"

#include <bit>

#include "base/check.h"
#include "base/raw_syscall.h"
#include "base/text_builder.h"
#include "heap/segments.h"
#include "heap/threads.h"

namespace geiger::heap {

namespace {

std::size_t length_of_list(const Block* block) {
  std::size_t length = 0;
  for (; block != nullptr; block = block->next) ++length;
  return length;
}

/// Live blocks are the rest of the carved ones: `listed` and `inboxes` are subtracted later.
void count_page(Census& census, const Page& page) {
  const std::size_t size = block_size(page.size_class);
  const std::size_t bytes = page.slots * kSlotBytes;
  const std::size_t free = length_of_list(page.local_free);
  GEIGER_ASSERT(free == page.free_blocks());
  GEIGER_ASSERT(page.state == PageState::kCurrent || page.carved == page.capacity);
  census.free += free * size;
  census.live += (page.carved - free) * size;
  census.live_blocks[page.size_class] += page.carved - free;
  census.uncarved += (std::size_t{page.capacity} - page.carved) * size;
  census.tails += bytes - page.capacity * size;
}

void count_sent(Census& census, Block* block) {
  for (; block != nullptr; block = block->next) {
    const unsigned size_class = first_slot(page_of(block))->size_class;
    census.inboxes += block_size(size_class);
    census.live -= block_size(size_class);
    --census.live_blocks[size_class];
  }
}

void count_heap(Census& census, Heap& heap) {
  for (unsigned i = 0; i < kClasses; ++i) {
    const List& list = heap.lists[i];
    const std::size_t count = list.listed();
    GEIGER_ASSERT(length_of_list(static_cast<Block*>(list.head)) == count);
    census.listed += count * block_size(i);
    census.live -= count * block_size(i);
    census.live_blocks[i] -= count;
  }
  count_sent(census, heap.inbox.load(std::memory_order_acquire));
  count_sent(census, heap.arrived);
  count_sent(census, heap.outbox.first);
}

void count_slots(Census& census, Segment& segment) {
  auto* const headers = reinterpret_cast<Page*>(&segment);
  census.heads += kSlotBytes;
  const auto empty = static_cast<std::size_t>(std::popcount(segment.empty));
  const auto dirty = static_cast<std::size_t>(std::popcount(segment.dirty));
  GEIGER_ASSERT((segment.dirty & ~segment.empty) == 0);
  census.empty_dirty += dirty * kSlotBytes;
  census.empty_clean += (empty - dirty) * kSlotBytes;
  for (std::size_t slot = 1; slot < kSlots; ++slot) {
    if ((segment.empty >> slot & 1) != 0) continue;
    const Page& page = headers[slot];
    const std::uintptr_t owner = page.owner.load(std::memory_order_relaxed);
    if (owner == kLarge) {
      census.large += page.slots * kSlotBytes;
    } else if (owner == kSamplesOnly) {
      census.samples += kSlotBytes;
    } else {
      count_page(census, page);
    }
    slot += page.slots - 1U;
  }
}

}  // namespace

Census take_census() {
  Census census{};
  const Locked locked(segments.lock);
  census.mapped = segments.mapped();
  census.cached = segments.cached();
  census.huge = segments.huge_bytes;
  census.huge_around = segments.huge_mapped - segments.huge_bytes;
  segments.for_each_segment([&](Segment& segment) { count_slots(census, segment); });
  for (Heap* heap = all_heaps(); heap != nullptr; heap = heap->next) count_heap(census, *heap);
  return census;
}

std::uint64_t handed_out(unsigned size_class) {
  std::uint64_t count = 0;
  for (const Heap* heap = all_heaps(); heap != nullptr; heap = heap->next) {
    count += heap->lists[size_class].handed_out();
  }
  return count;
}

#if defined(GEIGER_EXPENSIVE_ASSERTIONS)

namespace {

bool is_only_heap(const Heap* own) {
  for (const Heap* heap = all_heaps(); heap != nullptr; heap = heap->next) {
    if (heap != own && !heap->is_idle.load(std::memory_order_relaxed)) return false;
  }
  return true;
}

}  // namespace

void check_heap() {
  constexpr std::uint64_t kEvery = 64;
  static constinit std::atomic<std::uint64_t> calls{0};
  if (calls.fetch_add(1, std::memory_order_relaxed) % kEvery != 0) return;
  if (!is_only_heap(this_heap)) return;
  const Census census = take_census();
  GEIGER_ASSERT(census.sum() == census.mapped);
}

#endif

namespace {

/// A line to stderr, with numbers between words.
class Line {
 public:
  Line() : text_(characters_, sizeof characters_) { text_.append("geiger-malloc:"); }
  ~Line() {
    text_.append('\n');
    base::raw_syscall(SYS_write, 2, reinterpret_cast<long>(characters_),
                      static_cast<long>(__builtin_strlen(characters_)));
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  Line& add(std::uint64_t number, const char* words) {
    text_.append(' ').append(number).append(' ').append(words);
    return *this;
  }

 private:
  char characters_[512];
  base::TextBuilder text_;
};

}  // namespace

void write_statistics() {
  const Census census = take_census();
  for (unsigned i = 0; i < kClasses; ++i) {
    const std::uint64_t calls = handed_out(i);
    if (calls == 0) continue;
    Line()
        .add(block_size(i), "bytes:")
        .add(calls, "blocks handed out,")
        .add(census.live_blocks[i], "live");
  }
  Line()
      .add(census.mapped, "bytes mapped:")
      .add(census.live, "in live blocks,")
      .add(census.listed, "in lists of threads,")
      .add(census.free, "free in pages,")
      .add(census.inboxes, "sent to other threads,")
      .add(census.uncarved, "never used,")
      .add(census.tails, "ends of pages,")
      .add(census.samples, "pages of samples,")
      .add(census.large + census.huge, "in large objects,")
      .add(census.huge_around, "around them,")
      .add(census.cached + census.empty_dirty + census.empty_clean, "empty,")
      .add(census.heads, "headers");
}

}  // namespace geiger::heap
