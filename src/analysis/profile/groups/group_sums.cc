#include "analysis/profile/groups/group_sums.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "analysis/profile/kinds.h"
#include "estimation/counts.h"

namespace geiger::profile {
namespace {

using estimation::NodeSums;
using GroupOf = std::function<std::uint32_t(const Entry&)>;

/// Entries of a group that are of one kind.
struct KindCount {
  std::uint32_t kind;
  std::uint64_t count;
};

/// The entries by group: those of group i end at ends[i].
struct ByGroup {
  std::vector<KindCount> entries;
  std::vector<std::size_t> ends;

  ByGroup(const Profile& profile, const Kinds& kinds, std::size_t groups, const GroupOf& group_of)
      : entries(profile.entries.size()), ends(groups, 0) {
    std::vector<std::uint32_t> group;
    group.reserve(profile.entries.size());
    for (const Entry& entry : profile.entries) ++ends[group.emplace_back(group_of(entry))];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::vector<std::size_t> places = ends;
    for (std::size_t i = 0; i < profile.entries.size(); ++i) {
      entries[--places[group[i]]] = {kinds.order[i], profile.entries[i].count};
    }
  }
};

/// Sums of one entry of each kind, made once: most entries count one.
std::vector<NodeSums> sums_of_one(const Kinds& kinds) {
  std::vector<NodeSums> sums(kinds.counts.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    estimation::add(sums[i], kinds.counts[i], 1);
  }
  return sums;
}

/// Adds entries in the order of their kinds, which it brings them into.
class GroupAdder {
 public:
  explicit GroupAdder(const Kinds& kinds) : kinds_(kinds), of_one_(sums_of_one(kinds)) {}

  [[nodiscard]] NodeSums add(std::span<KindCount> entries) const {
    std::ranges::sort(entries, {}, &KindCount::kind);
    NodeSums sums;
    for (std::size_t i = 0; i < entries.size() && entries[i].kind != kNone;) {
      const std::uint32_t kind = entries[i].kind;
      std::uint64_t count = 0;
      for (; i < entries.size() && entries[i].kind == kind; ++i) count += entries[i].count;
      if (count == 1) {
        sums.merge(of_one_[kind]);
      } else {
        estimation::add(sums, kinds_.counts[kind], count);
      }
    }
    return sums;
  }

 private:
  const Kinds& kinds_;
  std::vector<NodeSums> of_one_;
};

std::vector<GroupSums> sums_of_entries(const Recording& recording, const Profile& profile,
                                       std::size_t groups, const GroupOf& group_of) {
  const Kinds kinds = kinds_of(recording, profile);
  ByGroup by_group(profile, kinds, groups, group_of);
  const GroupAdder adder(kinds);
  std::vector<GroupSums> used;
  std::size_t start = 0;
  for (std::size_t i = 0; i < by_group.ends.size(); ++i) {
    const std::size_t end = by_group.ends[i];
    if (start == end) continue;
    const std::span entries(by_group.entries.data() + start, end - start);
    used.push_back({static_cast<std::uint32_t>(i), adder.add(entries)});
    used.back().sums.average_over(profile.averaged_over);
    used.back().sums.could_have_sampled(profile.largest_interval, profile.largest_ratio);
    start = end;
  }
  return used;
}

/// Both by group, in that order.
void leave_open(std::vector<GroupSums>& used, const std::vector<GroupSums>& all_open) {
  std::vector<GroupSums> all;
  auto known = used.cbegin();
  for (const GroupSums& open : all_open) {
    while (known != used.cend() && known->group < open.group) all.push_back(*known++);
    const bool is_known = known != used.cend() && known->group == open.group;
    all.push_back(is_known ? *known++ : GroupSums{open.group, {}});
    all.back().sums.leave_open(open.sums);
  }
  all.insert(all.end(), known, used.cend());
  used = std::move(all);
}

}  // namespace

std::vector<GroupSums> sums_by(const Recording& recording, const Profile& profile,
                               std::size_t groups, const GroupOf& group_of) {
  std::vector<GroupSums> used = sums_of_entries(recording, profile, groups, group_of);
  if (!profile.open.empty()) {
    leave_open(used, sums_of_entries(recording, open_of(profile), groups, group_of));
  }
  std::ranges::stable_sort(used,
                           [](const GroupSums& a, const GroupSums& b) { return a.sums < b.sums; });
  return used;
}

}  // namespace geiger::profile
