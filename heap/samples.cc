#include "heap/samples.h"

#include <bit>
#include <cstddef>
#include <new>
#include <utility>

#include "base/check.h"
#include "heap/allocator.h"
#include "heap/segments.h"
#include "heap/system.h"
#include "heap/threads.h"
#include "sampling/samplers.h"
#include "vocabulary/heap_layout.h"

namespace geiger::heap {

// All zero except the interval is valid: no listener, and no seed yet.
constinit Wanted wanted{{}, {kDefaultInterval}, {}, {}, {}};

namespace {

// Streams of a heap's two samplers.
constexpr std::uint64_t kDirectStream = std::uint64_t{1} << 32;

std::uint64_t seed_of(std::uint64_t stream) {
  std::uint64_t seed = wanted.seed.load(std::memory_order_relaxed);
  if (seed == 0) {
    const std::uint64_t fresh = system::random_seed() | 1;
    if (wanted.seed.compare_exchange_strong(seed, fresh, std::memory_order_relaxed)) seed = fresh;
  }
  return sampling::thread_seed(seed, stream);
}

void note_versions(Heap& heap) {
  heap.draws_version = wanted.version.load(std::memory_order_acquire);
  heap.seeding = wanted.seeding.load(std::memory_order_relaxed);
}

void change_interval(Heap& heap, std::uint64_t interval) {
  const double lambda = sampling::rate_of(interval);
  heap.sampler.change_interval(heap.lists.data(), kClasses, interval, lambda);
  if (interval == 0) return;  // Nothing is tried directly.
  if (heap.direct.is_started()) {
    heap.direct.change_interval(interval, lambda);
  } else {
    heap.direct.start(seed_of(kDirectStream + heap.number), interval, lambda, false);
  }
}

}  // namespace

void begin_draws(Heap& heap) {
  note_versions(heap);
  const std::uint64_t interval = wanted.interval.load(std::memory_order_relaxed);
  heap.sampler.start(seed_of(heap.number), interval, sampling::rate_of(interval), false);
  change_interval(heap, interval);
}

void keep_up_slow(Heap& heap) {
  const bool is_reseeded = heap.seeding != wanted.seeding.load(std::memory_order_relaxed);
  note_versions(heap);
  change_interval(heap, wanted.interval.load(std::memory_order_relaxed));
  if (is_reseeded) draw_afresh(heap);
}

void draw_afresh(Heap& heap) {
  heap.sampler.reseed(heap.lists.data(), kClasses, seed_of(heap.number));
  if (heap.direct.is_started()) heap.direct.reseed(seed_of(kDirectStream + heap.number));
}

void reseed_child(std::uint64_t number_of_child) {
  wanted.seed.store(seed_of(~number_of_child) | 1, std::memory_order_relaxed);
}

sampling::Verdict decide_directly(Heap& heap, std::size_t size) {
  return heap.sampler.interval() != 0 ? heap.direct.decide(size) : sampling::Verdict{};
}

void listen(const Listener* listener, std::uint64_t interval, std::uint64_t seed) {
  wanted.interval.store(interval, std::memory_order_relaxed);
  if (seed != 0) {
    wanted.seed.store(seed, std::memory_order_relaxed);
    wanted.seeding.fetch_add(1, std::memory_order_relaxed);
  }
  wanted.listener.store(listener, std::memory_order_release);
  wanted.version.fetch_add(1, std::memory_order_release);
  if (this_heap != &no_heap) keep_up(*this_heap);
}

void keep_memory(bool keeps) { segments.keeps_memory.store(keeps, std::memory_order_relaxed); }

constinit Lock samples_lock;
thread_local constinit bool is_among_samples = false;
constinit std::atomic<Block*> freed_later{nullptr};

namespace {

constexpr std::size_t kLargestInSmallLeaf = 2048;

/// A sixteenth of a slot, or all of it.
constexpr std::size_t leaf_bytes(unsigned size_class) {
  return block_size(size_class) <= kLargestInSmallLeaf ? kSystemPage : kSlotBytes;
}

/// The entry of a block of a leaf, which is free if it has no proxy.
struct Entry {
  void* proxy;
  std::uint64_t number;  ///< The listener's; of a free entry: the next free one.
};

/// A page of samples, or 4 KiB of one: blocks of one class, with their entries before them. Most
/// classes have few samples.
///
///   used + length of the list from first_free == capacity
struct Leaf {
  Leaf* next;  ///< Among the leaves of its class that have a free block.
  Leaf* previous;
  std::uint32_t block_bytes;
  std::uint32_t first_block;  ///< Bytes from the leaf's start.
  std::uint32_t first_free;   ///< kNone: none.
  std::uint16_t used;
  std::uint16_t size_class;
  Entry entries[1];  ///< As many as there are blocks.

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::byte* block(std::size_t index) {
    return reinterpret_cast<std::byte*>(this) + first_block + index * block_bytes;
  }
};

namespace layout = vocabulary::heap_layout;
static_assert(offsetof(Leaf, entries) == layout::kEntries &&
              sizeof(Entry) == sizeof(layout::Entry));
static_assert(offsetof(Leaf, block_bytes) == offsetof(layout::Leaf, block_bytes) &&
              offsetof(Leaf, first_block) == offsetof(layout::Leaf, first_block) &&
              offsetof(Entry, proxy) == offsetof(layout::Entry, proxy));

/// Offset of the first of `count` blocks, which are aligned to the power of 2 in their size.
constexpr std::size_t first_block_of(std::size_t count, std::size_t block_bytes) {
  const std::size_t alignment = block_bytes & (0 - block_bytes);
  const std::size_t heading = sizeof(Leaf) + (count - 1) * sizeof(Entry);
  return (heading + alignment - 1) & ~(alignment - 1);
}

constexpr std::size_t blocks_of_leaf(unsigned size_class) {
  const std::size_t bytes = leaf_bytes(size_class);
  const std::size_t block_bytes = block_size(size_class);
  std::size_t count = (bytes - sizeof(Leaf) + sizeof(Entry)) / (block_bytes + sizeof(Entry));
  while (first_block_of(count, block_bytes) + count * block_bytes > bytes) --count;
  return count;
}
static_assert(blocks_of_leaf(0) > 120 && blocks_of_leaf(class_of(kLargestInSmallLeaf)) == 1 &&
              blocks_of_leaf(class_of(kLargestSmall)) == 7);

/// Under samples_lock.
struct Leaves {
  Leaf* with_room[kSmallClasses];
  Page* slots;  ///< Divided into small leaves, at least one of them unused.
};
constinit Leaves leaves{};

template <typename Node>
void push(Node*& first, Node& node) {
  node.previous = nullptr;
  node.next = first;
  if (first != nullptr) first->previous = &node;
  first = &node;
}

template <typename Node>
void remove(Node*& first, Node& node) {
  (node.previous != nullptr ? node.previous->next : first) = node.next;
  if (node.next != nullptr) node.next->previous = node.previous;
}

// --- leaves ---

constexpr std::uint16_t kAllLeaves = 0xffff;

/// A slot for leaves of this size.
Page* new_slot(std::size_t bytes_of_leaf) {
  bool is_zero = false;
  Page* const page = segments.take_slots(1, kSlotBytes, &is_zero);
  if (page == nullptr) return nullptr;
  page->back = 0;
  page->sampled.store(nullptr, std::memory_order_relaxed);
  page->used_leaves = 0;
  page->bytes_of_leaf = bytes_of_leaf;
  page->owner.store(kSamplesOnly, std::memory_order_relaxed);
  return page;
}

std::byte* take_small_leaf() {
  if (leaves.slots == nullptr) {
    Page* const fresh = new_slot(kSystemPage);
    if (fresh == nullptr) return nullptr;
    push(leaves.slots, *fresh);
  }
  Page& page = *leaves.slots;
  const auto index = static_cast<unsigned>(std::countr_one(page.used_leaves));
  page.used_leaves = static_cast<std::uint16_t>(page.used_leaves | 1U << index);
  if (page.used_leaves == kAllLeaves) remove(leaves.slots, page);
  return slot_of(&page) + index * kSystemPage;
}

std::byte* take_leaf_memory(unsigned size_class) {
  if (leaf_bytes(size_class) == kSystemPage) return take_small_leaf();
  Page* const page = new_slot(kSlotBytes);
  return page != nullptr ? slot_of(page) : nullptr;
}

/// Gives back a leaf without samples.
GEIGER_SLOW_PATH void give_leaf(Leaf& leaf) {
  remove(leaves.with_room[leaf.size_class], leaf);
  leaf.block_bytes = 0;
  Page& page = *page_of(&leaf.entries);
  const auto offset = reinterpret_cast<std::byte*>(&leaf) - slot_of(&page);
  if (page.bytes_of_leaf == kSystemPage) {
    if (page.used_leaves == kAllLeaves) push(leaves.slots, page);
    const auto index = static_cast<unsigned>(static_cast<std::size_t>(offset) / kSystemPage);
    page.used_leaves = static_cast<std::uint16_t>(page.used_leaves & ~(1U << index));
    if (page.used_leaves != 0) return;
    remove(leaves.slots, page);
  }
  segments.give_slots(page);
}

GEIGER_SLOW_PATH Leaf* new_leaf(unsigned size_class) {
  std::byte* const memory = take_leaf_memory(size_class);
  if (memory == nullptr) return nullptr;
  auto* const leaf = new (memory) Leaf{};
  const std::size_t count = blocks_of_leaf(size_class);
  leaf->block_bytes = static_cast<std::uint32_t>(block_size(size_class));
  leaf->first_block = static_cast<std::uint32_t>(first_block_of(count, leaf->block_bytes));
  leaf->size_class = static_cast<std::uint16_t>(size_class);
  for (std::size_t i = 0; i < count; ++i) {
    leaf->entries[i] = {nullptr, i + 1 < count ? i + 1 : Leaf::kNone};
  }
  push(leaves.with_room[size_class], *leaf);
  return leaf;
}

Leaf& leaf_of(const Page& page, const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return *reinterpret_cast<Leaf*>(address & ~(page.bytes_of_leaf - 1));  // NOLINT
}

/// The entry of the block at `pointer`; null if none begins there, or if it is free.
Entry* entry_of(Leaf& leaf, const void* pointer) {
  const auto offset = static_cast<std::uint32_t>(static_cast<const std::byte*>(pointer) -
                                                 reinterpret_cast<std::byte*>(&leaf));
  if (leaf.block_bytes == 0 || offset < leaf.first_block) return nullptr;
  const std::uint32_t of_blocks = offset - leaf.first_block;
  if (of_blocks % leaf.block_bytes != 0) return nullptr;
  Entry& entry = leaf.entries[of_blocks / leaf.block_bytes];
  return entry.proxy != nullptr ? &entry : nullptr;
}

struct Taken {
  void* block;  ///< Null: no memory.
  Entry* entry;
};

/// Takes a block of a leaf for an object whose proxy is `proxy`. Under the lock.
Taken take_block(unsigned size_class, void* proxy) {
  Leaf* leaf = leaves.with_room[size_class];
  if (leaf == nullptr) leaf = new_leaf(size_class);
  if (leaf == nullptr) return {nullptr, nullptr};
  const std::uint32_t index = leaf->first_free;
  Entry& entry = leaf->entries[index];
  leaf->first_free = static_cast<std::uint32_t>(entry.number);
  entry = {proxy, 0};
  ++leaf->used;
  if (leaf->first_free == Leaf::kNone) remove(leaves.with_room[size_class], *leaf);
  return {leaf->block(index), &entry};
}

/// Under the lock.
inline void give_block(Leaf& leaf, Entry& entry) {
  Leaf*& first = leaves.with_room[leaf.size_class];
  if (leaf.first_free == Leaf::kNone) push(first, leaf);
  entry = {nullptr, leaf.first_free};
  leaf.first_free = static_cast<std::uint32_t>(&entry - leaf.entries);
  // Keep the only leaf of its class with room, as the next sample would need it.
  if (--leaf.used == 0 && (first != &leaf || leaf.next != nullptr)) give_leaf(leaf);
}

// --- samples in place ---

/// Sets or clears the mark that makes the frees of a small page take the slow path. Under the lock.
void mark(Page& page) {
  const std::uintptr_t owner = page.owner.load(std::memory_order_relaxed);
  const bool has_samples = page.sampled.load(std::memory_order_relaxed) != nullptr;
  if (owner == kHasSamples && !has_samples) {
    page.owner.store(page.heap->as_owner(), std::memory_order_relaxed);
  } else if (page.heap != nullptr && owner == page.heap->as_owner() && has_samples) {
    page.owner.store(kHasSamples, std::memory_order_relaxed);
  }
}

/// Null: no memory.
SampleInPlace* attach(Page& page, const void* pointer, std::uint64_t number) {
  const AmongSamples among;
  void* const memory = take_block(class_of(sizeof(SampleInPlace)), &page).block;
  if (memory == nullptr) return nullptr;
  auto* const sample =
      new (memory) SampleInPlace{page.sampled.load(std::memory_order_relaxed), pointer, number};
  page.sampled.store(sample, std::memory_order_relaxed);
  mark(page);
  return sample;
}

/// Attaches a record and returns the place for the listener's number; null: no memory.
[[gnu::noinline]] std::uint64_t* keep_in_place(Page& page, Sample& sample) {
  SampleInPlace* const record = attach(page, sample.address, 0);
  return record != nullptr ? &record->number : nullptr;
}

/// Like keep_in_place(), but moves the sample to a new address.
std::uint64_t* move(const Page& page, Sample& sample) {
  const AmongSamples among;
  const Taken taken = take_block(page.size_class, sample.address);
  if (taken.block == nullptr) return nullptr;
  sample.address = taken.block;
  return &taken.entry->number;
}

}  // namespace

void* place(Sample& sample) {
  const Listener* const listener = current_listener();
  if (listener == nullptr) return sample.address;
  std::uint64_t* number = nullptr;
  if (!is_among_samples) [[likely]] {
    const bool moves = sample.usable <= kLargestSmall && 16 * sample.usable <= sample.interval;
    Page& page = *page_of(sample.address);
    number = moves ? move(page, sample) : keep_in_place(*first_slot(&page), sample);
  }
  sample.is_followed = number != nullptr;
  const std::uint64_t told = listener->sampled(&sample);
  if (sample.is_followed) *number = told;
  return sample.address;
}

void* end_moved(const Page& page, void* pointer) {
  Leaf& leaf = leaf_of(page, pointer);
  Entry* const entry = entry_of(leaf, pointer);
  if (entry == nullptr) system::refuse("free()", pointer);
  tell_end({true, entry->number}, pointer);
  void* const proxy = entry->proxy;
  const AmongSamples among;
  give_block(leaf, *entry);
  return proxy;
}

void release_moved(const Page& page, void* pointer) {
  release(end_moved(page, pointer));
  release_what_came_later();
}

void* proxy_of(const Page& page, const void* pointer) {
  const Entry* const entry = entry_of(leaf_of(page, pointer), pointer);
  GEIGER_ASSERT(entry != nullptr);
  return entry->proxy;
}

std::size_t moved_usable_size(const Page& page, const void* pointer) {
  return leaf_of(page, pointer).block_bytes;
}

Detached detach(Page& page, const void* pointer) {
  const AmongSamples among;
  SampleInPlace* before = nullptr;
  for (SampleInPlace* sample = page.sampled.load(std::memory_order_relaxed); sample != nullptr;
       before = sample, sample = sample->next) {
    if (sample->address != pointer) continue;
    if (before != nullptr) {
      before->next = sample->next;
    } else {
      page.sampled.store(sample->next, std::memory_order_relaxed);
    }
    const Detached result{true, sample->number};
    Leaf& leaf = leaf_of(*page_of(sample), sample);
    give_block(leaf, *entry_of(leaf, sample));
    mark(page);
    return result;
  }
  return {false, 0};
}

void attach_again(Page& page, const void* pointer, const Detached& sample) {
  if (sample.was_sample) attach(page, pointer, sample.number);
}

void tell_end(const Detached& sample, const void* pointer) {
  const Listener* const listener = current_listener();
  if (sample.was_sample && listener != nullptr) listener->freed(sample.number, pointer);
}

void free_later(void* pointer) {
  auto* const block = static_cast<Block*>(pointer);
  block->next = freed_later.load(std::memory_order_relaxed);
  while (!freed_later.compare_exchange_weak(block->next, block, std::memory_order_release,
                                            std::memory_order_relaxed)) {
  }
}

void release_what_came_later_slow() {
  Block* block = freed_later.exchange(nullptr, std::memory_order_acquire);
  while (block != nullptr) release(std::exchange(block, block->next));
}

}  // namespace geiger::heap
