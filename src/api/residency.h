// Which pages of this process are in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "base/unique_fd.h"
#include "base/units.h"

namespace geiger::api {

/// Queries ranges of pages, so that neighbours need no further call: /proc/self/pagemap, or mincore
/// if that cannot be read. Call look() in the order of addresses.
class Residency {
 public:
  Residency();

  struct Found {
    Bytes resident = 0, swapped = 0;
    Bytes untouched = 0;  ///< Never written, or given back: not in any page.
  };
  /// The states of the bytes [address, address + bytes). Without the pagemap only `resident` is
  /// known.
  [[nodiscard]] Found look(Address address, Bytes bytes);

 private:
  enum class State : std::uint8_t { kUnknown, kUntouched, kSwapped, kResident };

  [[nodiscard]] State state_of(std::uint64_t page);
  void load(std::uint64_t page);
  bool load_from_pagemap();
  void load_by_mincore();

  base::UniqueFd pagemap_;
  std::uint64_t first_ = 0;  ///< Page number of states_[0].
  std::vector<State> states_;
};

}  // namespace geiger::api
