#include "analysis/profile/kinds.h"

#include <tsl/robin_map.h>

#include <bit>

#include "analysis/profile/hash.h"

namespace geiger::profile {
namespace {

using estimation::Count;

struct KindHash {
  std::size_t operator()(const Count& count) const {
    const std::uint64_t hash = spread(spread(table_seed(), count.size), count.value);
    return spread(spread(hash, std::bit_cast<std::uint64_t>(count.lambda)),
                  std::bit_cast<std::uint64_t>(count.keep));
  }
};

struct IsAlike {
  bool operator()(const Count& a, const Count& b) const { return is_alike(a, b); }
};

}  // namespace

Kinds kinds_of(const Recording& recording, const Profile& profile) {
  Kinds kinds;
  kinds.order.reserve(profile.entries.size());
  // First by appearance, then renumbered by their canonical order.
  tsl::robin_map<Count, std::uint32_t, KindHash, IsAlike> places;
  for (const Entry& entry : profile.entries) {
    const Count count = count_of(entry, recording, profile);
    const auto next = static_cast<std::uint32_t>(kinds.counts.size());
    const auto [place, is_new] = places.try_emplace(count, next);
    if (is_new) {
      kinds.counts.push_back(count);
    } else {
      kinds.counts[place->second].count += count.count;
    }
    kinds.order.push_back(place->second);
  }
  std::vector<std::uint32_t> renumbered(kinds.counts.size(), kNone);
  make_canonical(kinds.counts);
  for (std::uint32_t i = 0; i < kinds.counts.size(); ++i) {
    renumbered[places.at(kinds.counts[i])] = i;
  }
  for (std::uint32_t& index : kinds.order) index = renumbered[index];
  return kinds;
}

}  // namespace geiger::profile
