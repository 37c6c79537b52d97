// Which pages of this process are in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace geiger::api {

/// Asks the kernel by stretches of pages, so that neighbours cost nothing more:
/// /proc/self/pagemap, or mincore where that cannot be read. Ask in the order of
/// addresses.
class Residency {
 public:
  Residency();
  ~Residency();
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  /// Bytes of [address, address + bytes) that lie in pages which are in memory. Pages
  /// that are not mapped are not.
  [[nodiscard]] Bytes resident(Address address, Bytes bytes);

 private:
  [[nodiscard]] bool is_resident(std::uint64_t page);
  void load(std::uint64_t page);
  bool load_from_pagemap();
  void load_by_mincore();

  int pagemap_;
  std::uint64_t first_ = 0;  ///< Page number of states_[0].
  std::vector<bool> states_;
};

}  // namespace geiger::api
