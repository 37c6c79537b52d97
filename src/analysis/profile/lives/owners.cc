#include "analysis/profile/lives/owners.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "estimation/difference.h"
#include "estimation/distributions/gamma.h"

namespace geiger::profile {

namespace {

/// Leaves the group with the nearest function of those with equal sets. The smallest come first.
void keep_distinct(std::vector<OwnerGroup>& groups) {
  std::ranges::sort(groups, [](const OwnerGroup& a, const OwnerGroup& b) {
    if (a.sites.size() != b.sites.size()) return a.sites.size() < b.sites.size();
    return std::tie(a.sites, a.distance, a.function) < std::tie(b.sites, b.distance, b.function);
  });
  const auto is_equal = [](const OwnerGroup& a, const OwnerGroup& b) { return a.sites == b.sites; };
  groups.erase(std::unique(groups.begin(), groups.end(), is_equal), groups.end());
}

/// The sites of a group that `is_away` does not take.
OwnedSites rest_of(const OwnedSites& sites, const std::vector<bool>& is_away) {
  OwnedSites rest;
  std::ranges::copy_if(sites, std::back_inserter(rest), [&](auto site) { return !is_away[site]; });
  return rest;
}

}  // namespace

std::vector<std::uint32_t> own_functions_of(ShownPath& shown, std::uint32_t stack) {
  std::vector<std::uint32_t> own;
  shown.of(stack);
  for (const std::uint32_t label : shown.path()) {
    if (label == shown.path().back()) continue;
    const Label& function = shown.labels()[label];
    const bool is_named = function.is_frame() && !function.is_location;
    if (is_named && shown.roles()[label] == FrameRole::kOwn) own.push_back(label);
  }
  return own;
}

std::vector<OwnerGroup> owner_groups(std::span<const std::vector<std::uint32_t>> functions) {
  struct Place {
    std::uint32_t function, site, distance;
    auto operator<=>(const Place&) const = default;
  };
  std::vector<Place> places;
  for (std::uint32_t site = 0; site < functions.size(); ++site) {
    for (std::uint32_t i = 0; i < functions[site].size(); ++i) {
      places.push_back({functions[site][i], site, i});
    }
  }
  std::ranges::sort(places);
  std::vector<OwnerGroup> groups, direct;
  const auto add = [](std::vector<OwnerGroup>& to, const Place& place) {
    if (to.empty() || to.back().function != place.function) to.push_back({place.function, {}, 0});
    OwnerGroup& group = to.back();
    if (!group.sites.empty() && group.sites.back() == place.site) return;
    group.sites.push_back(place.site);
    group.distance += place.distance;
  };
  for (const Place& place : places) {
    add(groups, place);
    if (place.distance == 0) add(direct, place);
  }
  std::ranges::move(direct, std::back_inserter(groups));
  std::erase_if(groups, [](const OwnerGroup& group) { return group.sites.size() < 2; });
  for (OwnerGroup& group : groups) group.distance /= static_cast<double>(group.sites.size());
  keep_distinct(groups);
  return groups;
}

std::vector<GrowingGroup> growing_groups(std::span<const OwnerGroup> groups,
                                         const std::vector<bool>& is_away, const PooledTest& test,
                                         double q) {
  std::vector<OwnerGroup> rests;
  for (const OwnerGroup& group : groups) {
    OwnedSites rest = rest_of(group.sites, is_away);
    if (rest.size() >= 2) rests.push_back({group.function, std::move(rest), group.distance});
  }
  keep_distinct(rests);
  std::vector<double> p;
  std::erase_if(rests, [&](const OwnerGroup& rest) {
    const std::optional<double> value = test(rest.sites);
    if (value) p.push_back(*value);
    return !value;
  });
  struct Candidate {
    GrowingGroup group;
    double p;
  };
  std::vector<Candidate> candidates;
  const std::vector<double> adjusted = estimation::adjusted_p_values(p);
  for (std::size_t i = 0; i < rests.size(); ++i) {
    if (adjusted[i] > q) continue;
    candidates.push_back({{rests[i].function, std::move(rests[i].sites)}, p[i]});
  }
  std::vector<GrowingGroup> found;
  std::vector<bool> is_claimed(is_away.size(), false);
  while (!candidates.empty() && found.size() < kMostOwners) {
    const auto best = std::ranges::min_element(candidates, [](const auto& a, const auto& b) {
      return a.p != b.p ? a.p < b.p : a.group.sites.size() < b.group.sites.size();
    });
    found.push_back(best->group);
    for (const std::uint32_t site : found.back().sites) is_claimed[site] = true;
    std::erase_if(candidates, [&](Candidate& candidate) {
      OwnedSites& sites = candidate.group.sites;
      OwnedSites left = rest_of(sites, is_claimed);
      if (left.size() == sites.size()) return false;
      sites = std::move(left);
      if (sites.size() < 2) return true;
      candidate.p = test(sites).value_or(1);
      return candidate.p > q;
    });
  }
  return found;
}

namespace {

/// Of what one site has too much of, its callers are not accused.
constexpr double kDominant = 0.8;
/// So many healthy sites tell what the program is.
constexpr std::ptrdiff_t kEnoughHealthy = 8;
/// Keeping so little would be chance with this probability.
constexpr double kHealthy = 0.05;
/// Of the largest savings, that are compared pair by pair.
constexpr std::size_t kMostPairs = 100;

/// Whether it keeps significantly less than that share of its samples: P(Poisson(mean) <= kept).
bool is_healthy(const OwnedSite& site, double share) {
  const double mean = site.samples * share;
  if (!(mean > 0)) return false;
  const double next = std::floor(std::max(0.0, site.kept)) + 1;
  return estimation::Gamma{next, std::sqrt(next)}.above(mean) <= kHealthy;
}

/// The sum of sites that kept something.
void add_to(OwnedSite& all, const OwnedSite& site) {
  all.samples += site.samples;
  all.kept += std::max(0.0, site.kept);
  all.bytes += std::max(0.0, site.bytes);
}

double share_kept(const OwnedSite& all) { return all.kept / std::max(1.0, all.samples); }

/// A function that saves lines.
struct Saving {
  Owner owner;
  double lines = 0;
};

class Namer {
 public:
  Namer(std::span<const OwnerGroup> groups, std::span<const OwnedSite> sites)
      : groups_(groups), sites_(sites), is_left_(sites.size()) {
    OwnedSite all;
    for (std::size_t i = 0; i < sites.size(); ++i) {
      is_left_[i] = sites[i].is_accused;
      if (is_left_[i]) add_to(all, sites[i]);
    }
    const double share = share_kept(all);
    for (const OwnedSite& site : sites) {
      is_healthy_.push_back(!site.is_accused && is_healthy(site, share));
    }
    healthy_ = std::ranges::count(is_healthy_, true);
    for (std::uint32_t i = 0; i < groups.size(); ++i) {
      if (!is_program(groups[i])) candidates_.push_back(i);
    }
  }

  /// The next owner; nothing where none saves anything.
  std::optional<Owner> next() {
    std::vector<Saving> savings;
    std::erase_if(candidates_, [&](std::uint32_t group) {
      Saving saving = saving_of(group);
      const bool is_spent = saving.owner.accused.size() < 2;
      if (saving.lines > 0) savings.push_back(std::move(saving));
      return is_spent;
    });
    if (savings.empty()) return std::nullopt;
    std::ranges::stable_sort(savings, std::ranges::greater{}, &Saving::lines);
    return best_of(savings).owner;
  }

  void take(const Owner& owner) {
    for (const std::uint32_t site : owner.accused) is_left_[site] = false;
  }
  void refuse(const Owner& owner) { std::erase(candidates_, owner.group); }

 private:
  [[nodiscard]] bool is_program(const OwnerGroup& group) const {
    const auto own =
        std::ranges::count_if(group.sites, [&](std::uint32_t site) { return is_healthy_[site]; });
    return healthy_ >= kEnoughHealthy && 2 * own > healthy_;
  }

  /// No lines where the function may not be named.
  [[nodiscard]] Saving saving_of(std::uint32_t group) const {
    Saving saving{{group, {}}};
    OwnedSite all;
    double largest = 0;
    for (const std::uint32_t index : groups_[group].sites) {
      if (!is_left_[index]) continue;
      saving.owner.accused.push_back(index);
      const OwnedSite& site = sites_[index];
      add_to(all, site);
      largest = std::max(largest, site.bytes);
    }
    if (saving.owner.accused.size() < 2 || largest > kDominant * all.bytes) return saving;
    const double share = all.kept / std::max(1.0, all.samples);
    const auto healthy = std::ranges::count_if(
        groups_[group].sites, [&](std::uint32_t site) { return is_healthy(sites_[site], share); });
    saving.lines =
        static_cast<double>(saving.owner.accused.size()) - 1 - static_cast<double>(healthy);
    return saving;
  }

  /// Of savings, the largest first. Two owners below one function save more than that.
  static const Saving& best_of(const std::vector<Saving>& savings) {
    const Saving* best = &savings[0];
    double most = best->lines;
    const std::size_t compared = std::min(savings.size(), kMostPairs);
    for (std::size_t i = 0; i < compared; ++i) {
      for (std::size_t j = i + 1; j < compared; ++j) {
        const double both = savings[i].lines + savings[j].lines;
        if (both <= most) break;
        if (!are_disjoint(savings[i].owner.accused, savings[j].owner.accused)) continue;
        most = both;
        best = &savings[i];
      }
    }
    return *best;
  }

  static bool are_disjoint(const OwnedSites& a, const OwnedSites& b) {
    for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
      if (*i == *j) return false;
      *i < *j ? ++i : ++j;
    }
    return true;
  }

  std::span<const OwnerGroup> groups_;
  std::span<const OwnedSite> sites_;
  std::vector<bool> is_left_;              ///< By site: accused, and no owner has it.
  std::vector<bool> is_healthy_;           ///< By site: beside all that are accused.
  std::ptrdiff_t healthy_ = 0;             ///< Of these.
  std::vector<std::uint32_t> candidates_;  ///< Into the groups.
};

}  // namespace

void accuse(const GrowingGroup& group, std::span<OwnedSite> sites) {
  OwnedSite all;
  for (const std::uint32_t site : group.sites) add_to(all, sites[site]);
  const double share = share_kept(all);
  for (const std::uint32_t site : group.sites) {
    sites[site].is_accused |= sites[site].kept > 0 && !is_healthy(sites[site], share);
  }
}

std::vector<Owner> name_owners(std::span<const OwnerGroup> groups, std::span<const OwnedSite> sites,
                               const OwnerTest& may_be_named) {
  std::vector<Owner> owners;
  Namer namer(groups, sites);
  for (std::size_t pass = 0; pass < kMostOwners; ++pass) {
    std::optional<Owner> owner = namer.next();
    if (!owner) break;
    if (may_be_named(groups[owner->group], owner->accused)) {
      namer.take(*owner);
      owners.push_back(*std::move(owner));
    } else {
      namer.refuse(*owner);
    }
  }
  return owners;
}

namespace {

/// Accused are so many of the bytes, in so many sites.
constexpr double kMostHeld = 0.8;
constexpr std::size_t kMostHolders = 20;

std::vector<OwnedSite> with_holders_accused(std::span<const HeldSite> held) {
  std::vector<OwnedSite> sites;
  std::vector<std::uint32_t> order;
  double left = 0;
  for (const HeldSite& site : held) {
    // Each could have held as much as the others: one trial a site, whose outcome is its samples.
    sites.push_back({.samples = 1, .kept = site.samples, .bytes = site.bytes});
    order.push_back(static_cast<std::uint32_t>(order.size()));
    left += kMostHeld * site.bytes;
  }
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::uint32_t site) { return held[site].bytes; });
  order.resize(std::min(order.size(), kMostHolders));
  for (const std::uint32_t site : order) {
    if (left <= 0) break;
    left -= held[site].bytes;
    sites[site].is_accused = true;
  }
  return sites;
}

/// Of each site, the functions that an accused one has too: others own nothing.
std::vector<std::vector<std::uint32_t>> accused_functions(
    std::span<const std::vector<std::uint32_t>> functions, std::span<const OwnedSite> sites) {
  std::unordered_set<std::uint32_t> accused;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    if (sites[i].is_accused) accused.insert(functions[i].begin(), functions[i].end());
  }
  std::vector<std::vector<std::uint32_t>> kept(functions.begin(), functions.end());
  for (auto& path : kept) std::erase_if(path, [&](auto label) { return !accused.contains(label); });
  return kept;
}

}  // namespace

HeldBy held_by(std::span<const std::vector<std::uint32_t>> functions,
               std::span<const HeldSite> held) {
  const std::vector<OwnedSite> sites = with_holders_accused(held);
  std::vector<OwnerGroup> groups = owner_groups(accused_functions(functions, sites));
  const auto other = [&](std::uint32_t site) { return !sites[site].is_accused; };
  const auto others = std::ranges::count(sites, false, &OwnedSite::is_accused);
  HeldBy found;
  std::erase_if(groups, [&](const OwnerGroup& group) {
    const auto below = std::ranges::count_if(group.sites, other);
    const bool is_program = others >= kEnoughHealthy && 2 * below > others;
    if (is_program) found.program.push_back(group.function);
    return is_program;
  });
  std::ranges::sort(found.program);
  const auto any = [](const OwnerGroup&, const OwnedSites&) { return true; };
  for (Owner& owner : name_owners(groups, sites, any)) {
    const OwnerGroup& group = groups[owner.group];
    found.owners.push_back({group.function, std::move(owner.accused), group.distance});
  }
  return found;
}

}  // namespace geiger::profile
