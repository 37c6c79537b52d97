#include "heap/large.h"

#include <algorithm>

#include "base/check.h"
#include "heap/segments.h"
#include "heap/system.h"

namespace geiger::heap {
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
