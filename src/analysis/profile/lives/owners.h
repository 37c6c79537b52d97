// Which functions own what several sites allocate: a leak, or what is held at the peak.
//
// One leak often appears as many stacks. The candidates are functions of the program's own code,
// not nodes of a tree: a function's group is the set of all sites with it anywhere in their stacks.
// A second group of it are the sites where it allocates itself: its lines, whatever it calls.
// Source and error rates: docs/internals/estimators.md, Owners.
//
// With S sites of at most D such functions each, groups take S D log(S D) time and S D memory, and
// each search at most kMostOwners passes over the groups.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "analysis/profile/frames/frame_roles.h"

namespace geiger::profile {

/// Of each search at most.
inline constexpr std::size_t kMostOwners = 50;

/// Sites of a function, by number.
using OwnedSites = std::vector<std::uint32_t>;

/// Those of a stack: named functions of own code. Without the outermost function: main, that of a
/// thread or a script is the program itself. Makes the stack's path the current one.
[[nodiscard]] std::vector<std::uint32_t> own_functions_of(ShownPath& shown, std::uint32_t stack);

struct OwnerGroup {
  std::uint32_t function = 0;
  OwnedSites sites;     ///< Ascending, two or more.
  double distance = 0;  ///< From the allocation, in own functions: the mean over the sites.
};

/// The groups of all functions, and of what they allocate themselves; of equal sets only that of
/// the function nearest to the allocation.
/// The smallest groups first. `functions`: by site, nearest to the allocation first; of recursion
/// the nearest counts.
[[nodiscard]] std::vector<OwnerGroup> owner_groups(
    std::span<const std::vector<std::uint32_t>> functions);

/// A group that grows together, whatever its sites do alone.
struct GrowingGroup {
  std::uint32_t function = 0;
  OwnedSites sites;  ///< Without those that were taken away, or that another group explains.
};

/// The p-value of sites as one; nothing where they have too few samples for any verdict.
using PooledTest = std::function<std::optional<double>(std::span<const std::uint32_t> sites)>;

/// Which groups grow without the sites in `is_away` (by site), which explain themselves. Rests that
/// differ are a family of hypotheses: Benjamini and Hochberg's procedure. Of those that grow the
/// smallest p-value comes first and claims its sites; the others are tested again without them.
[[nodiscard]] std::vector<GrowingGroup> growing_groups(std::span<const OwnerGroup> groups,
                                                       const std::vector<bool>& is_away,
                                                       const PooledTest& test, double q);

/// What names are chosen by.
struct OwnedSite {
  double samples = 0;  ///< All that took part.
  double kept = 0;     ///< Of them, those that stayed, less those that went.
  double bytes = 0;    ///< What the accusation is about: growth, or what is held.
  bool is_accused = false;
};

/// Accuses the sites of a growing group that kept something, and not significantly less of it than
/// the group's sites do together.
void accuse(const GrowingGroup& group, std::span<OwnedSite> sites);

/// A function in place of several accused sites.
struct Owner {
  std::uint32_t group = 0;  ///< Index into the groups.
  OwnedSites accused;       ///< Of its sites, those that no owner before it has.
};

/// Whether a group may be named for these accused sites. If so it is, before the next is asked for.
using OwnerTest = std::function<bool(const OwnerGroup& group, const OwnedSites& accused)>;

/// The functions that are shorter to name than the accused sites below them: c accused sites beside
/// h healthy ones save c - 1 - h lines. The owner that saves most comes first. Sites left are to be
/// named themselves. Not named: what more than half of the healthy sites of all run through, if
/// they are eight or more (the program), and the caller of one site with over 80 % of the bytes.
std::vector<Owner> name_owners(std::span<const OwnerGroup> groups, std::span<const OwnedSite> sites,
                               const OwnerTest& may_be_named);

/// What one site holds at an instant.
struct HeldSite {
  double samples = 0;
  double bytes = 0;
};

/// Who holds most: name_owners() with the largest sites accused, up to 80 % of the bytes and at
/// most 20. A site is healthy if it has significantly fewer samples than the accused have on
/// average.
struct HeldBy {
  std::vector<OwnerGroup> owners;  ///< With the sites that are accused.
  /// Functions that more than half of the sites that are not accused run through, if these are
  /// eight or more: dispatchers, which are never owners. Ascending.
  std::vector<std::uint32_t> program;
};

/// `functions` as for owner_groups(), as many as there are sites.
[[nodiscard]] HeldBy held_by(std::span<const std::vector<std::uint32_t>> functions,
                             std::span<const HeldSite> sites);

}  // namespace geiger::profile
