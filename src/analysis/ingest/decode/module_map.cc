#include "analysis/ingest/decode/module_map.h"

#include <iterator>

namespace geiger::ingest {

void ModuleMap::insert(Address start, const Mapping& mapping) {
  if (start >= mapping.end) return;
  auto next = by_start_.lower_bound(start);
  if (next != by_start_.begin()) {
    Mapping& before = std::prev(next)->second;
    const Mapping rest = before;
    if (before.end > start) before.end = start;
    if (rest.end > mapping.end) next = by_start_.insert_or_assign(mapping.end, rest).first;
  }
  while (next != by_start_.end() && next->first < mapping.end) {
    const Mapping covered = next->second;
    next = by_start_.erase(next);
    if (covered.end > mapping.end) next = by_start_.insert_or_assign(mapping.end, covered).first;
  }
  by_start_.insert_or_assign(start, mapping);
}

const Mapping* ModuleMap::find(Address address) const {
  auto after = by_start_.upper_bound(address);
  if (after == by_start_.begin()) return nullptr;
  const Mapping& mapping = std::prev(after)->second;
  return address < mapping.end ? &mapping : nullptr;
}

}  // namespace geiger::ingest
