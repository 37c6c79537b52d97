#include "analysis/export/address_layout.h"

#include <algorithm>

#include "analysis/export/program.h"

namespace geiger::exports {
namespace {

constexpr Address kPage = 4096;
/// More than any program's file: a location further away is not of its module.
constexpr Address kFarthest = Address{1} << 40;
constexpr Address kHighest = Address{1} << 62;

Address to_page(Address address) { return (address + kPage - 1) / kPage * kPage; }

}  // namespace

AddressLayout::AddressLayout(const profile::Recording& recording)
    : recording_(recording),
      starts_(recording.modules.size()),
      by_location_(recording.locations.size()) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < recording.modules.size(); ++i) order.push_back(i);
  const std::string program = program_of(recording);
  std::stable_partition(order.begin(), order.end(),
                        [&](std::uint32_t i) { return recording.modules[i].path == program; });
  std::vector<Address> lengths(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    const profile::Module& module = recording.modules[i];
    if (module.start < kHighest && module.end < kHighest) next_ = std::max(next_, module.end);
    if (recording.modules[order[i]].kind == profile::ModuleKind::kSource) continue;
    modules_.push_back({order[i], 0, 0});
  }
  for (const profile::Location& location : recording.locations) {
    if (location.module >= lengths.size()) {
      if (location.vaddr < kHighest) next_ = std::max(next_, location.vaddr + 1);
      continue;
    }
    const Address inside = distance(location);
    if (inside < kFarthest)
      lengths[location.module] = std::max(lengths[location.module], inside + 1);
  }
  next_ = to_page(std::max(next_, kPage));
  for (PlacedModule& placed : modules_) place(placed, lengths[placed.module]);
}

void AddressLayout::place(PlacedModule& placed, Address least) {
  const profile::Module& module = recording_.modules[placed.module];
  const Address mapped = module.end > module.start ? module.end - module.start : 0;
  const Address length = to_page(std::max({mapped < kFarthest ? mapped : 0, least, Address{1}}));
  placed.start = module.start;
  if (module.start == 0 || module.start >= kHighest ||
      !is_free(module.start, module.start + length)) {
    placed.start = next_;
    next_ += length;
  }
  placed.end = placed.start + length;
  taken_.emplace(placed.start, placed.end);
  starts_[placed.module] = placed.start;
}

bool AddressLayout::is_free(Address start, Address end) const {
  const auto behind = taken_.lower_bound(end);
  return behind == taken_.begin() || std::prev(behind)->second <= start;
}

/// How far from the start of its module.
Address AddressLayout::distance(const profile::Location& location) const {
  const profile::Module& module = recording_.modules[location.module];
  return location.vaddr + module.bias - module.start;
}

Address AddressLayout::of(std::uint32_t index) {
  Address& known = by_location_[index];
  if (known != 0) return known;
  const profile::Location& location = recording_.locations[index];
  if (recording_.is_source(location)) return known = unused();
  if (location.module < starts_.size()) {
    const Address inside = distance(location);
    const Address address = starts_[location.module] + inside;
    const bool is_told = inside < kFarthest && given_.insert(address).second;
    return known = is_told ? address : unused();
  }
  const bool is_told = location.module >= starts_.size() && location.vaddr != 0 &&
                       location.vaddr < kHighest && is_free(location.vaddr, location.vaddr + 1) &&
                       given_.insert(location.vaddr).second;
  return known = is_told ? location.vaddr : unused();
}

}  // namespace geiger::exports
