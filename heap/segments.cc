#include "heap/segments.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "heap/system.h"

namespace geiger::heap {

constinit Segments segments;

namespace {

Page* header_of_slot(Segment& segment, unsigned slot) {
  return reinterpret_cast<Page*>(&segment) + slot;
}

Segment& segment_of(const Page& page) {
  const auto address = reinterpret_cast<std::uintptr_t>(&page);
  return *reinterpret_cast<Segment*>(address & ~(kSegmentBytes - 1));  // NOLINT
}

unsigned number_of(const Page& page) {
  return static_cast<unsigned>(&page - header_of_slot(segment_of(page), 0));
}

std::uint64_t mask_of(unsigned first, unsigned count) {
  return (~std::uint64_t{0} >> (64 - count)) << first;
}

/// The bits at which `count` set bits begin.
std::uint64_t starts_of_runs(std::uint64_t bits, unsigned count) {
  for (unsigned known = 1; known < count;) {
    const unsigned step = std::min(known, count - known);
    bits &= bits >> step;
    known += step;
  }
  return bits;
}

/// The slots at multiples of `alignment` bytes.
std::uint64_t aligned_slots(std::size_t alignment) {
  if (alignment <= kSlotBytes) return ~std::uint64_t{0};
  std::uint64_t result = 0;
  for (std::size_t slot = 0; slot < kSlots; slot += alignment / kSlotBytes) {
    result |= std::uint64_t{1} << slot;
  }
  return result;
}

/// Calls visit(first, count) for each run of set bits.
template <typename Visit>
void for_each_run(std::uint64_t bits, const Visit& visit) {
  while (bits != 0) {
    const auto first = static_cast<unsigned>(std::countr_zero(bits));
    const auto count = static_cast<unsigned>(std::countr_one(bits >> first));
    visit(first, count);
    bits &= ~mask_of(first, count);
  }
}

}  // namespace

Page* Segments::take_slots(unsigned count, std::size_t alignment, bool* is_zero) {
  const Locked locked(lock);
  purge_what_is_due(system::milliseconds());
  const std::uint64_t aligned = aligned_slots(alignment);
  Segment* segment = dirty_slots_ != 0 ? find(count, aligned, true) : nullptr;
  if (segment == nullptr) segment = find(count, aligned, false);
  if (segment == nullptr) segment = add_segment();
  if (segment == nullptr) return nullptr;
  std::uint64_t starts = starts_of_runs(segment->dirty, count) & aligned;
  if (starts == 0) starts = starts_of_runs(segment->empty, count) & aligned;
  const auto first = static_cast<unsigned>(std::countr_zero(starts));
  const std::uint64_t taken = mask_of(first, count);
  *is_zero = (segment->dirty & taken) == 0;
  use(*segment, taken);
  Page* const page = header_of_slot(*segment, first);
  page->slots = static_cast<std::uint8_t>(count);
  return page;
}

void Segments::give_slots(Page& first) {
  GEIGER_ASSERT(first.slots != 0);
  const Locked locked(lock);
  Segment& segment = segment_of(first);
  for (Page* page = &first; page < &first + first.slots; ++page) {
    page->owner.store(kNobody, std::memory_order_relaxed);
  }
  give(segment, mask_of(number_of(first), first.slots));
}

bool Segments::resize_run(Page& first, unsigned count) {
  const Locked locked(lock);
  Segment& segment = segment_of(first);
  const unsigned slot = number_of(first);
  if (slot + count > kSlots) return false;
  const std::uint64_t before = mask_of(slot, first.slots);
  const std::uint64_t after = mask_of(slot, count);
  const std::uint64_t added = after & ~before;
  if ((segment.empty & added) != added) return false;
  if (added != 0) use(segment, added);
  if (count < first.slots) give(segment, before & ~after);
  first.slots = static_cast<std::uint8_t>(count);
  return true;
}

/// Requires empty slots.
void Segments::use(Segment& segment, std::uint64_t slots) {
  GEIGER_ASSERT((segment.empty & slots) == slots);
  dirty_slots_ -= static_cast<std::size_t>(std::popcount(segment.dirty & slots));
  segment.empty &= ~slots;
  segment.dirty &= ~slots;
  if (segment.dirty == 0) segment.purge_due = 0;
  if (segment.empty == 0) make_unavailable(segment);
}

/// Requires used slots whose owner is kNobody.
void Segments::give(Segment& segment, std::uint64_t slots) {
  GEIGER_ASSERT((segment.empty & slots) == 0);
  const std::uint64_t now = system::milliseconds();
  if (segment.empty == 0) make_available(segment);
  segment.empty |= slots;
  segment.dirty |= slots;
  dirty_slots_ += static_cast<std::size_t>(std::popcount(slots));
  if (segment.purge_due == 0) {
    segment.purge_due = static_cast<std::uint32_t>(now + kDecayMilliseconds) | 1;
  }
  if (next_look_ == 0) next_look_ = now + kDecayMilliseconds;
  purge_what_is_due(now);
}

Segment* Segments::find(unsigned count, std::uint64_t starts, bool only_dirty) const {
  for (Segment* segment = available_; segment != nullptr; segment = segment->next_available) {
    const std::uint64_t bits = only_dirty ? segment->dirty : segment->empty;
    if ((starts_of_runs(bits, count) & starts) != 0) return segment;
  }
  return nullptr;
}

Segment* Segments::add_segment() {
  void* const memory = system::map(kSegmentBytes, kSegmentBytes, 0);
  if (memory == nullptr) return nullptr;
  system::keep_pages_small(memory, kSegmentBytes);
  mapped_ += kSegmentBytes;
  register_header(memory, true);
  auto* const segment = static_cast<Segment*>(memory);
  segment->empty = kAllSlots;
  segment->next = all_;
  if (all_ != nullptr) all_->previous = segment;
  all_ = segment;
  make_available(*segment);
  return segment;
}

void Segments::make_available(Segment& segment) {
  segment.previous_available = nullptr;
  segment.next_available = available_;
  if (available_ != nullptr) available_->previous_available = &segment;
  available_ = &segment;
}

void Segments::make_unavailable(Segment& segment) {
  Segment*& link = segment.previous_available != nullptr
                       ? segment.previous_available->next_available
                       : available_;
  link = segment.next_available;
  if (segment.next_available != nullptr) {
    segment.next_available->previous_available = segment.previous_available;
  }
}

void Segments::remove(Segment& segment) {
  make_unavailable(segment);
  (segment.previous != nullptr ? segment.previous->next : all_) = segment.next;
  if (segment.next != nullptr) segment.next->previous = segment.previous;
  register_header(&segment, false);
  mapped_ -= kSegmentBytes;
  system::unmap(&segment, kSegmentBytes);
}

void Segments::purge(Segment& segment) {
  const std::uint64_t dirty = segment.dirty;
  dirty_slots_ -= static_cast<std::size_t>(std::popcount(dirty));
  segment.purge_due = 0;
  if (segment.empty == kAllSlots && segment.heaps == 0) {
    remove(segment);
    return;
  }
  for_each_run(dirty, [&](unsigned first, unsigned count) {
    void* const start = slot_of(header_of_slot(segment, first));
    if (system::discard(start, count * kSlotBytes)) segment.dirty &= ~mask_of(first, count);
  });
  // Slots that the system did not take stay dirty, are used first, and are not offered again.
  dirty_slots_ += static_cast<std::size_t>(std::popcount(segment.dirty));
}

void Segments::purge_what_is_due(std::uint64_t now) {
  if (next_look_ == 0 || now < next_look_ || keeps_memory.load(std::memory_order_relaxed)) return;
  next_look_ = 0;
  const auto keep = [&](std::uint64_t due) {
    next_look_ = next_look_ == 0 ? due : std::min(next_look_, due);
  };
  for (Segment *segment = available_, *next = nullptr; segment != nullptr; segment = next) {
    next = segment->next_available;
    if (segment->purge_due == 0) continue;
    const auto left =
        static_cast<std::int32_t>(segment->purge_due - static_cast<std::uint32_t>(now));
    if (left > 1) {
      keep(now + static_cast<std::uint64_t>(left));
    } else {
      purge(*segment);
    }
  }
  for (Cached** link = &cached_; *link != nullptr;) {
    if ((*link)->due <= now) {
      drop_cached(link);
    } else {
      keep((*link)->due);
      link = &(*link)->next;
    }
  }
}

bool Segments::purge_all() {
  const Locked locked(lock);
  const bool had_any = dirty_slots_ != 0 || cached_ != nullptr;
  for (Segment *segment = available_, *next = nullptr; segment != nullptr; segment = next) {
    next = segment->next_available;
    purge(*segment);
  }
  while (cached_ != nullptr) drop_cached(&cached_);
  next_look_ = 0;
  return had_any;
}

// --- mappings of whole segments ---

Mapping Segments::take_mapping(std::size_t count, std::size_t alignment, std::size_t offset) {
  const Locked locked(lock);
  purge_what_is_due(system::milliseconds());
  // Larger alignments are rare, so they get a new mapping.
  Cached** const link = alignment <= kSegmentBytes ? find_cached(count) : nullptr;
  if (link == nullptr) {
    auto* const fresh =
        static_cast<std::byte*>(system::map(count * kSegmentBytes, alignment, offset));
    if (fresh == nullptr) return {nullptr, false};
    mapped_ += count * kSegmentBytes;
    register_header(fresh, true);
    return {fresh, true};
  }
  Cached* const found = *link;
  *link = found->next;
  auto* const start = reinterpret_cast<std::byte*>(found);
  if (found->segments > count) {
    auto* const rest = reinterpret_cast<Cached*>(start + count * kSegmentBytes);
    *rest = {*link, found->segments - count, found->due};
    *link = rest;
  }
  register_header(start, true);
  return {start, false};
}

void Segments::give_mapping(std::byte* start, std::size_t count) {
  const Locked locked(lock);
  register_header(start, false);
  const std::uint64_t now = system::milliseconds();
  Cached** link = &cached_;
  Cached* before = nullptr;
  while (*link != nullptr && reinterpret_cast<std::byte*>(*link) < start) {
    before = *link;
    link = &(*link)->next;
  }
  auto* cached = reinterpret_cast<Cached*>(start);
  *cached = {*link, count, now + kDecayMilliseconds};
  *link = cached;
  const auto join = [](Cached& first) {
    Cached* const second = first.next;
    const auto* const end = reinterpret_cast<std::byte*>(&first) + first.segments * kSegmentBytes;
    if (reinterpret_cast<std::byte*>(second) != end) return;
    first = {second->next, first.segments + second->segments, std::max(first.due, second->due)};
  };
  join(*cached);
  if (before != nullptr) join(*before);
  if (next_look_ == 0) next_look_ = now + kDecayMilliseconds;
  purge_what_is_due(now);
}

/// The smallest cached mapping that is large enough.
Segments::Cached** Segments::find_cached(std::size_t count) {
  Cached** best = nullptr;
  for (Cached** link = &cached_; *link != nullptr; link = &(*link)->next) {
    const std::size_t size = (*link)->segments;
    if (size >= count && (best == nullptr || size < (*best)->segments)) best = link;
  }
  return best;
}

void Segments::drop_cached(Cached** link) {
  Cached* const cached = *link;
  *link = cached->next;
  const std::size_t bytes = cached->segments * kSegmentBytes;
  mapped_ -= bytes;
  system::unmap(cached, bytes);
}

std::size_t Segments::cached() const {
  std::size_t bytes = 0;
  for (const Cached* each = cached_; each != nullptr; each = each->next) {
    bytes += each->segments * kSegmentBytes;
  }
  return bytes;
}

// --- heaps and headers ---

void* Segments::take_forever(std::size_t bytes) {
  const Locked locked(lock);
  if (forever_ == nullptr || forever_used_ + bytes > kSlotBytes) {
    // Any segment whose slot 0 is unused will do.
    Segment* candidate = all_;
    while (candidate != nullptr && candidate->heaps != 0) candidate = candidate->next;
    if (candidate == nullptr) candidate = add_segment();
    if (candidate == nullptr) return nullptr;
    forever_ = candidate;
    forever_used_ = kSystemPage;
  }
  void* const result = reinterpret_cast<std::byte*>(forever_) + forever_used_;
  forever_used_ += bytes;
  ++forever_->heaps;
  return result;
}

void Segments::register_header(const void* segment, bool exists) {
  const std::size_t number = reinterpret_cast<std::uintptr_t>(segment) / kSegmentBytes;
  if (number / 64 >= kHeaderWords) return;
  std::uint64_t& word = headers_[number / 64];
  const std::uint64_t bit = std::uint64_t{1} << number % 64;
  // Under the lock.
  const std::uint64_t bits = exists ? word | bit : word & ~bit;
  std::atomic_ref(word).store(bits, std::memory_order_relaxed);
}

namespace {

// Larger sizes and alignments are refused, so that additions do not overflow.
constexpr std::size_t kTooMuch = std::size_t{1} << 62;

constexpr std::size_t round_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) & ~(step - 1);
}

LargeBlock allocate_run(std::size_t size, std::size_t alignment) {
  const std::size_t bytes = round_up(std::max<std::size_t>(size, 1), kSlotBytes);
  bool is_zero = false;
  Page* const page =
      segments.take_slots(static_cast<unsigned>(bytes / kSlotBytes), alignment, &is_zero);
  if (page == nullptr) return {nullptr, false};
  page->heap = nullptr;
  page->bytes = bytes;
  page->back = 0;
  page->sampled.store(nullptr, std::memory_order_relaxed);
  page->owner.store(kLarge, std::memory_order_relaxed);
  return {slot_of(page), is_zero};
}

bool resize_run(Page& page, std::size_t size) {
  if (size > kLargestRun || size <= kLargestMedium) return false;
  const std::size_t bytes = round_up(size, kSlotBytes);
  if (bytes == page.bytes) return true;
  if (!segments.resize_run(page, static_cast<unsigned>(bytes / kSlotBytes))) return false;
  page.bytes = bytes;
  return true;
}

/// Offset of a huge object in its mapping: after the headers, as early as its alignment permits.
std::size_t offset_of_huge(std::size_t alignment) {
  return std::clamp(alignment, kSystemPage, kSegmentBytes);
}

/// The mapping of a huge object.
std::byte* mapping_of(Page& page) {
  const auto address = reinterpret_cast<std::uintptr_t>(&page);
  return reinterpret_cast<std::byte*>(address & ~(kSegmentBytes - 1));  // NOLINT
}

/// For a cached mapping, which was used before: the memory after the object must not stay resident.
void discard_behind(std::byte* end, std::byte* end_of_mapping) {
  if (end < end_of_mapping) {
    system::discard(end, static_cast<std::size_t>(end_of_mapping - end));
  }
}

void count_huge(std::size_t bytes, std::size_t segment_count) {
  segments.huge_bytes.fetch_add(bytes, std::memory_order_relaxed);
  segments.huge_mapped.fetch_add(segment_count * kSegmentBytes, std::memory_order_relaxed);
}

void enter_huge(std::byte* start, std::size_t bytes, std::size_t segment_count) {
  count_huge(bytes, segment_count);
  Page& page = *page_of(start);
  page.heap = nullptr;
  page.bytes = bytes;
  page.segments = segment_count;
  page.slots = 0;
  page.back = 0;
  page.sampled.store(nullptr, std::memory_order_relaxed);
  page.owner.store(kHuge, std::memory_order_relaxed);
}

LargeBlock allocate_huge(std::size_t size, std::size_t alignment) {
  const std::size_t bytes = round_up(std::max<std::size_t>(size, 1), kSystemPage);
  const std::size_t offset = offset_of_huge(alignment);
  const std::size_t count = round_up(offset + bytes, kSegmentBytes) / kSegmentBytes;
  const Mapping mapping = segments.take_mapping(count, alignment, offset);
  if (mapping.start == nullptr) return {nullptr, false};
  std::byte* const start = mapping.start + offset;
  if (!mapping.is_zero) discard_behind(start + bytes, mapping.start + count * kSegmentBytes);
  enter_huge(start, bytes, count);
  return {start, mapping.is_zero};
}

/// Grows or shrinks within the mapping.
bool resize_in_place(Page& page, std::byte* start, std::size_t bytes) {
  std::byte* const end = mapping_of(page) + page.segments * kSegmentBytes;
  if (bytes > static_cast<std::size_t>(end - start)) return false;
  if (bytes < page.bytes) {
    if (bytes < page.bytes / 2 && page.segments > 1) return false;  // Return address space too.
    discard_behind(start + bytes, start + page.bytes);
  }
  count_huge(bytes - page.bytes, 0);  // May wrap around and back.
  page.bytes = bytes;
  return true;
}

}  // namespace

LargeBlock allocate_large(std::size_t size, std::size_t alignment) {
  GEIGER_ASSERT(size > kLargestMedium || alignment > kLargestMedium);
  if (size > kTooMuch || alignment > kTooMuch) return {nullptr, false};
  if (size > kLargestRun || alignment > kLargestRun) return allocate_huge(size, alignment);
  return allocate_run(size, alignment);
}

void release_large(Page& page, void* start) {
  if (page.owner.load(std::memory_order_relaxed) == kLarge) {
    if (start != slot_of(&page)) system::refuse("free()", start);
    segments.give_slots(page);
    return;
  }
  std::byte* const mapping = mapping_of(page);
  const std::size_t count = page.segments;
  count_huge(0 - page.bytes, 0 - count);
  page.owner.store(kNobody, std::memory_order_relaxed);
  segments.give_mapping(mapping, count);
}

void* resize_large(Page& page, void* start, std::size_t size) {
  if (size > kTooMuch) return nullptr;
  if (page.owner.load(std::memory_order_relaxed) == kLarge) {
    return resize_run(page, size) ? start : nullptr;
  }
  if (size <= kLargestRun) return nullptr;
  const std::size_t bytes = round_up(size, kSystemPage);
  if (resize_in_place(page, static_cast<std::byte*>(start), bytes)) return start;
  const LargeBlock moved = allocate_huge(size, kSystemPage);
  if (moved.start == nullptr) return nullptr;
  const std::size_t kept = std::min(bytes, page.bytes);
  if (!system::move_pages(start, kept, moved.start)) {
    release_large(*page_of(moved.start), moved.start);
    return nullptr;
  }
  release_large(page, start);
  return moved.start;
}

}  // namespace geiger::heap
