// Maps record references to indexes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analysis/profile/recording.h"
#include "trace/format.h"

namespace geiger::ingest {

/// A map from references that are added in rising order. Records are no smaller
/// than three words, so a block of 512 words holds few, and the entries of a
/// block are searched by halves: as fast as a hash table, in a third of its memory.
class RefIndex {
 public:
  /// `ref` is larger than every one added before.
  void add(trace::Ref ref, std::uint32_t index) {
    const std::size_t block = ref >> kBlockBits;
    while (starts_.size() <= block) starts_.push_back(static_cast<std::uint32_t>(entries_.size()));
    entries_.push_back({ref, index});
  }

  /// kNone for a reference that was not added.
  [[nodiscard]] std::uint32_t find(trace::Ref ref) const {
    const std::size_t block = ref >> kBlockBits;
    if (block >= starts_.size()) return profile::kNone;
    const bool is_last = block + 1 == starts_.size();
    const auto begin = entries_.begin() + starts_[block];
    const auto end = is_last ? entries_.end() : entries_.begin() + starts_[block + 1];
    const auto place = std::ranges::lower_bound(begin, end, ref, {}, &Entry::ref);
    return place != end && place->ref == ref ? place->index : profile::kNone;
  }

  /// Calls visit(ref, index) in order of references.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Entry& entry : entries_) visit(entry.ref, entry.index);
  }

 private:
  static constexpr unsigned kBlockBits = 9;
  struct Entry {
    trace::Ref ref;
    std::uint32_t index;
  };
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> starts_;  ///< Per block of references, into entries_.
};

}  // namespace geiger::ingest
