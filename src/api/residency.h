// Which pages of this process are in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "base/unique_fd.h"
#include "base/units.h"

namespace geiger::api {

/// Asks the kernel by stretches of pages, so that neighbours cost nothing more:
/// /proc/self/pagemap, or mincore where that cannot be read. Ask in the order of
/// addresses.
class Residency {
 public:
  Residency();

  struct Found {
    Bytes resident = 0, swapped = 0;
    Bytes untouched = 0;  ///< Never written, or given back: in no page at all.
  };
  /// Where the bytes of [address, address + bytes) are. Without the pagemap only what is
  /// resident is known.
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
