#include "analysis/symbolize/dwarf/units.h"

#include <dwarf.h>

#include <algorithm>
#include <utility>

namespace geiger::symbolize {
namespace {

/// Units that one address is looked for in. Correct files need one; two or three
/// happen with hand-made ranges.
constexpr std::uint8_t kMaxUnitsPerAddress = 4;

class Search {
 public:
  explicit Search(std::span<const Address> addresses)
      : addresses_(addresses), units_of_(addresses.size()) {}

  void add_unit(Dwarf_Die* unit) {
    const Dwarf_Off die = dwarf_dieoffset(unit);
    const std::size_t ranges =
        for_each_range(unit, [&](Address low, Address high) { add_range(die, low, high); });
    if (ranges == 0) without_ranges_.push_back(die);
  }

  void add_aranges(Dwarf* dwarf) {
    Dwarf_Aranges* aranges = nullptr;
    std::size_t count = 0;
    if (without_ranges_.empty() || dwarf_getaranges(dwarf, &aranges, &count) != 0) return;
    for (std::size_t i = 0; i < count; ++i) {
      Dwarf_Addr low = 0;
      Dwarf_Word bytes = 0;
      Dwarf_Off die = 0;
      if (dwarf_getarangeinfo(dwarf_onearange(aranges, i), &low, &bytes, &die) != 0) continue;
      // Units were added in file order, so their offsets ascend.
      const bool is_needed =
          std::binary_search(without_ranges_.begin(), without_ranges_.end(), die);
      if (is_needed) add_range(die, low, low + std::min(bytes, ~low));
    }
  }

  [[nodiscard]] std::vector<UnitHits> take() {
    std::sort(hits_.begin(), hits_.end());
    hits_.erase(std::unique(hits_.begin(), hits_.end()), hits_.end());
    std::vector<UnitHits> units;
    for (const auto& [die, address] : hits_) {
      if (units.empty() || units.back().die != die) units.push_back({die, {}});
      units.back().addresses.push_back(address);
    }
    return units;
  }

 private:
  void add_range(Dwarf_Off die, Address low, Address high) {
    const auto [first, end] = covered(addresses_, low, high);
    for (std::size_t i = first; i < end; ++i) {
      if (units_of_[i] == kMaxUnitsPerAddress) continue;
      ++units_of_[i];
      hits_.emplace_back(die, static_cast<std::uint32_t>(i));
    }
  }

  std::span<const Address> addresses_;
  std::vector<std::uint8_t> units_of_;
  std::vector<std::pair<Dwarf_Off, std::uint32_t>> hits_;
  std::vector<Dwarf_Off> without_ranges_;
};

}  // namespace

std::pair<std::size_t, std::size_t> covered(std::span<const Address> addresses, Address low,
                                            Address high) {
  const auto first = std::lower_bound(addresses.begin(), addresses.end(), low);
  const auto end = std::lower_bound(first, addresses.end(), high);
  return {static_cast<std::size_t>(first - addresses.begin()),
          static_cast<std::size_t>(end - addresses.begin())};
}

std::vector<UnitHits> find_units(Dwarf* dwarf, std::span<const Address> addresses) {
  Search search(addresses);
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  std::uint8_t type = 0;
  while (dwarf_get_units(dwarf, unit, &unit, nullptr, &type, &die, nullptr) == 0) {
    if (type == DW_UT_compile || type == DW_UT_skeleton) search.add_unit(&die);
  }
  search.add_aranges(dwarf);
  return search.take();
}

}  // namespace geiger::symbolize
