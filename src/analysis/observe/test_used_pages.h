// For tests: the free bytes on pages that hold objects, counted from the objects alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

#include "base/units.h"

namespace geiger::observe {

class UsedPages {
 public:
  void add(Address start, Address end) {
    for (Address at = start; at < end;) {
      const Address next = std::min(end, (at / kPage + 1) * kPage);
      used_[at / kPage] += next - at;
      at = next;
    }
  }

  /// Of a heap [first, end) that holds all that was added.
  [[nodiscard]] Bytes stranded_in(Address first, Address end) const {
    Bytes stranded = 0;
    for (const auto& [page, used] : used_) {
      stranded += std::min(end, (page + 1) * kPage) - std::max(first, page * kPage) - used;
    }
    return stranded;
  }

 private:
  static constexpr Bytes kPage = 4096;
  std::map<std::uint64_t, Bytes> used_;
};

}  // namespace geiger::observe
