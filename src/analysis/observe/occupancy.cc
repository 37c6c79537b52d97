#include "analysis/observe/occupancy.h"

#include <algorithm>

namespace geiger::observe {

PageUse& PageOccupancy::page(std::uint64_t number) {
  if (pages_.empty() || pages_.back().page != number) pages_.push_back({number, 0, 0});
  return pages_.back();
}

void PageOccupancy::add(Address start, Address end, bool is_used) {
  for (Address at = start; at < end;) {
    const std::uint64_t number = at / page_bytes_;
    const Address next = std::min(end, (number + 1) * page_bytes_);
    const bool is_whole = next - at == page_bytes_;
    if (is_whole && !is_used) {
      // A large free block may span the whole address space of its heap.
      at = end / page_bytes_ * page_bytes_;
      continue;
    }
    PageUse& use = page(number);
    (is_used ? use.used : use.free) += next - at;
    at = next;
  }
}

double PageOccupancy::waste_per_used_byte(std::uint64_t page) const {
  const auto found = std::ranges::lower_bound(pages_, page, {}, &PageUse::page);
  if (found == pages_.end() || found->page != page || found->used == 0) return 0;
  return static_cast<double>(found->free) / static_cast<double>(found->used);
}

double PageOccupancy::waste_of(Address start, Address end) const {
  double waste = 0;
  for (Address at = start; at < end;) {
    const std::uint64_t number = at / page_bytes_;
    const Address next = std::min(end, (number + 1) * page_bytes_);
    waste += waste_per_used_byte(number) * static_cast<double>(next - at);
    at = next;
  }
  return waste;
}

}  // namespace geiger::observe
