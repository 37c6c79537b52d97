// Which module an address belongs to, at a point of a trace.
#pragma once

#include <cstdint>
#include <map>

#include "base/units.h"

namespace geiger::ingest {

/// A module mapped somewhere.
struct Mapping {
  Address end = 0;  ///< One past the last.
  Address bias = 0;
  std::uint32_t module = 0;  ///< Index into Recording::modules.
};

/// Disjoint ranges: a later mapping takes what it overlaps from earlier ones.
class ModuleMap {
 public:
  /// An empty or reversed range changes nothing.
  void insert(Address start, const Mapping& mapping);

  /// The mapping that holds `address`, nullptr if none does.
  [[nodiscard]] const Mapping* find(Address address) const;

 private:
  std::map<Address, Mapping> by_start_;
};

}  // namespace geiger::ingest
