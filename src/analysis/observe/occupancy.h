// How full the pages of an allocator are, and what of the rest a sample answers for.
//
// The seam between allocators and the profile of stranded bytes: a reader of an allocator's pages,
// which knows which bytes hold objects, fills PageOccupancy. glibc_heap.h does so for glibc from
// outside, geiger_heap.h for our own from its page headers.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/observe/live_set.h"
#include "base/units.h"

namespace geiger::observe {

/// A page that holds objects.
struct PageUse {
  std::uint64_t page = 0;  ///< Address / page size.
  Bytes used = 0;          ///< In objects, with what the allocator puts before them.
  Bytes free = 0;          ///< In free blocks.
};

/// Built from blocks in order of addresses.
class PageOccupancy {
 public:
  explicit PageOccupancy(Bytes page_bytes) : page_bytes_(page_bytes) {}

  /// A block [start, end) after all earlier blocks.
  void add(Address start, Address end, bool is_used);

  /// A page of which the sums are known, after all earlier pages.
  void add_page(const PageUse& use) { pages_.push_back(use); }

  /// free / used of the page; 0 for one that is not known or holds nothing.
  [[nodiscard]] double waste_per_used_byte(std::uint64_t page) const;
  /// The free bytes that the bytes [start, end) answer for: each carries free / used of its page,
  /// so that all used bytes of a page together carry its free ones.
  [[nodiscard]] double waste_of(Address start, Address end) const;

 private:
  PageUse& page(std::uint64_t number);

  Bytes page_bytes_;
  std::vector<PageUse> pages_;
};

}  // namespace geiger::observe
