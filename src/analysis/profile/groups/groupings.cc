#include "analysis/profile/groups/groupings.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include "analysis/profile/frames/labels.h"
#include "analysis/profile/frames/types.h"
#include "analysis/profile/select/patterns.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/select/thinned.h"
#include "base/index_of.h"
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

namespace {

/// A row per group, total and self alike.
std::vector<Row> rows_of(const Recording& recording, const Profile& profile, std::size_t groups,
                         const std::function<std::uint32_t(const Entry&)>& group_of,
                         const std::function<void(std::uint32_t, Row&)>& describe) {
  std::vector<Row> rows;
  for (GroupSums& group : sums_by(recording, profile, groups, group_of)) {
    Row row;
    row.self = row.total = group.sums;
    describe(group.group, row);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string program_of(const Recording& recording, std::uint32_t process) {
  const Process& image = recording.processes[process];
  const std::string name{program_name(image)};
  // Without a pid it stands for a host with all that ran there.
  return image.pid == 0 ? name : fmt::format("{}, pid {}", name, image.pid);
}

std::vector<Row> table_of_tids(const Recording& recording, const Profile& profile) {
  // kNone wraps to 0.
  return rows_of(
      recording, profile, recording.threads.size() + 1,
      [](const Entry& entry) { return entry.thread + 1U; },
      [&](std::uint32_t group, Row& row) {
        if (group == 0) return void(row.name = "[no thread]");
        const Thread& thread = recording.threads[group - 1U];
        row.name = thread.name.empty() ? fmt::format("tid {}", thread.tid)
                                       : fmt::format("{} (tid {})", thread.name, thread.tid);
        row.detail = program_of(recording, thread.process);
      });
}

std::vector<Row> table_of_processes(const Recording& recording, const Profile& profile) {
  return rows_of(
      recording, profile, recording.processes.size(),
      [](const Entry& entry) { return entry.process; },
      [&](std::uint32_t group, Row& row) { row.name = program_of(recording, group); });
}

/// Threads by their names, numbered.
struct ThreadNames {
  std::vector<std::uint32_t> number_of;  ///< Per thread; the last: of no thread.
  std::vector<std::string> names;
  std::vector<std::uint64_t> threads;  ///< Per name.

  explicit ThreadNames(const Recording& recording) {
    std::unordered_map<std::string, std::uint32_t> known;
    const auto number = [&](const std::string& name) {
      const std::uint32_t index = base::index_of(known, name, names);
      threads.resize(names.size());
      return index;
    };
    for (const Thread& thread : recording.threads) {
      number_of.push_back(number(thread.name.empty() ? "[no name]" : thread.name));
      ++threads[number_of.back()];
    }
    number_of.push_back(number("[no thread]"));
  }
};

std::vector<Row> table_of_threads(const Recording& recording, const Profile& profile) {
  const ThreadNames known(recording);
  return rows_of(
      recording, profile, known.names.size(),
      [&](const Entry& entry) {
        return known.number_of[std::min<std::size_t>(entry.thread, recording.threads.size())];
      },
      [&](std::uint32_t group, Row& row) {
        row.name = known.names[group];
        if (known.threads[group] > 1) row.detail = fmt::format("{} threads", known.threads[group]);
      });
}

std::vector<Row> table_of_sizes(const Recording& recording, const Profile& profile) {
  const double complete = complete_from(recording, profile);
  const bool sums_sizes = rules_of(profile.kind).about == About::kObjects;
  return rows_of(
      recording, profile, kSizeClasses,
      [](const Entry& entry) { return size_class_of(entry.requested); },
      [&](std::uint32_t group, Row& row) {
        row.name = name_of_size_class(group);
        row.place = group;
        if (sums_sizes && group == size_class_of(0)) {
          row.self.miss_no_bytes();
          row.total.miss_no_bytes();
        }
        // Nothing of such a size can have been missed.
        if (static_cast<double>(least_of(group)) < complete) return;
        row.self.miss_nothing();
        row.total.miss_nothing();
      });
}

std::vector<Row> table_of_alignments(const Recording& recording, const Profile& profile) {
  constexpr std::size_t kAlignments = 256;
  return rows_of(
      recording, profile, kAlignments, [](const Entry& entry) { return entry.log2_alignment; },
      [](std::uint32_t group, Row& row) {
        row.name = name_of_alignment(group);
        row.place = group;
      });
}

std::vector<Row> table_of_types(const Recording& recording, const Profile& profile) {
  const Types types(recording);
  std::vector<Row> rows = rows_of(
      recording, profile, types.size(),
      [&](const Entry& entry) { return types.of(entry.type, entry.stack); },
      [&](std::uint32_t group, Row& row) { row.name = types[group]; });
  const estimation::NodeSums unknown = of_unknown_type(rows);
  for (Row& row : rows) {
    if (row.name != kUnknownType) row.total.leave_open(unknown);
  }
  return rows;
}

std::vector<Row> table_of_holders(const Recording& recording, const Profile& profile) {
  std::vector<std::string> names;
  std::vector<std::uint32_t> group_of;  // By holder + 1.
  std::map<std::string, std::uint32_t> groups;
  for (std::uint32_t i = 0; i <= recording.holders.size(); ++i) {
    const std::string name = name_of_holder(recording, i - 1);
    const auto number = static_cast<std::uint32_t>(names.size());
    const auto [at, is_new] = groups.try_emplace(name, number);
    if (is_new) names.push_back(name);
    group_of.push_back(at->second);
  }
  std::vector<Row> rows = rows_of(
      recording, profile, names.size(),
      [&](const Entry& entry) { return group_of[entry.holder + 1U]; },
      [&](std::uint32_t group, Row& row) { row.name = names[group]; });
  NodeSums open;
  for (const Row& row : rows) {
    if (is_open_hold(row.name)) open.merge(row.self.at_most());
  }
  for (Row& row : rows) {
    if (is_open_hold(row.name)) continue;
    row.total.leave_open(open);
    row.self = row.total;
  }
  return rows;
}

std::vector<Row> table_of_lifetimes(const Recording& recording, const Profile& profile) {
  return rows_of(
      recording, profile, kLifetimeClasses, [](const Entry& entry) { return entry.lifetime; },
      [](std::uint32_t group, Row& row) {
        row.name = name_of_lifetime(static_cast<LifetimeClass>(group));
        row.place = group;
      });
}

std::vector<Row> table_of_heap(const Recording& recording, const Profile& profile) {
  return rows_of(
      recording, profile, 1, [](const Entry&) { return 0U; },
      [&](std::uint32_t, Row& row) { row.name = name_of_heap(recording, profile.heap); });
}

/// What was allocated within lost labels may be of any other. `row_of`: by label + 1.
void leave_lost_open(const Recording& recording, const std::vector<std::uint32_t>& row_of,
                     std::vector<Row>& rows) {
  for (std::uint32_t label = 0; label < recording.labels.size(); ++label) {
    const std::uint32_t lost = row_of[label + 1U];
    if (!recording.labels[label].is_lost || lost == kNone) continue;
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      if (i == lost || i == row_of[0]) continue;
      rows[i].self.leave_open(rows[lost].total.at_most());
      rows[i].total.leave_open(rows[lost].total.at_most());
    }
  }
}

/// What a label allocates itself counts for those around it as well.
std::vector<Row> table_of_labels(const Recording& recording, const Profile& profile) {
  std::vector<std::uint32_t> row_of(recording.labels.size() + 1, kNone);
  std::vector<Row> rows;
  const auto row = [&](std::uint32_t label) -> Row& {
    std::uint32_t& index = row_of[label + 1U];
    if (index == kNone) {
      index = static_cast<std::uint32_t>(rows.size());
      rows.emplace_back();
      rows.back().name = label == kNone ? std::string(kNoLabel) : path_of_label(recording, label);
      rows.back().self.could_have_sampled(profile.largest_interval, profile.largest_ratio);
    }
    return rows[index];
  };
  const auto group_of = [](const Entry& entry) { return entry.label + 1U; };
  for (const GroupSums& group : sums_by(recording, profile, row_of.size(), group_of)) {
    const std::uint32_t innermost = group.group - 1U;
    row(innermost).self.merge(group.sums);
    row(innermost).total.merge(group.sums);
    if (innermost == kNone) continue;
    for (std::uint32_t label = recording.labels[innermost].parent; label != kNone;
         label = recording.labels[label].parent) {
      row(label).total.merge(group.sums);
    }
  }
  leave_lost_open(recording, row_of, rows);
  return rows;
}

struct Unit {
  Bytes bytes;
  std::string_view name;
};

Unit unit_of(Bytes size) {
  if (size >= kGiB) return {kGiB, "GiB"};
  if (size >= kMiB) return {kMiB, "MiB"};
  return size >= kKiB ? Unit{kKiB, "KiB"} : Unit{1, "B"};
}

}  // namespace

bool is_of_stacks(GroupBy group) {
  return group == GroupBy::kFunction || group == GroupBy::kLine || group == GroupBy::kStack ||
         group == GroupBy::kModule;
}

std::vector<Row> table_of_groups(const Recording& recording, const Profile& profile,
                                 GroupBy group) {
  switch (group) {
    case GroupBy::kThread:
      return table_of_threads(recording, profile);
    case GroupBy::kTid:
      return table_of_tids(recording, profile);
    case GroupBy::kProcess:
      return table_of_processes(recording, profile);
    case GroupBy::kSize:
      return table_of_sizes(recording, profile);
    case GroupBy::kAlignment:
      return table_of_alignments(recording, profile);
    case GroupBy::kType:
      return table_of_types(recording, profile);
    case GroupBy::kHolder:
      return table_of_holders(recording, profile);
    case GroupBy::kLabel:
      return table_of_labels(recording, profile);
    case GroupBy::kLifetime:
      return table_of_lifetimes(recording, profile);
    case GroupBy::kHeap:
      return table_of_heap(recording, profile);
    case GroupBy::kFunction:
    case GroupBy::kLine:
    case GroupBy::kStack:
    case GroupBy::kModule:
      break;
  }
  return {};
}

estimation::NodeSums of_unknown_type(const std::vector<Row>& rows) {
  const auto unknown = std::ranges::find(rows, kUnknownType, &Row::name);
  return unknown == rows.end() ? estimation::NodeSums{} : unknown->self.at_most();
}

std::string path_of_label(const Recording& recording, std::uint32_t label) {
  std::string path;
  for (; label != kNone; label = recording.labels[label].parent) {
    const std::string& text = recording.labels[label].text;
    path = path.empty() ? text : fmt::format("{} / {}", text, path);
  }
  return path;
}

std::vector<Answer> answers_of_labels(const Recording& recording, const std::string& glob) {
  std::vector<Answer> answers;
  for (std::uint32_t i = 0; i < recording.labels.size(); ++i) {
    const ScopedLabel& label = recording.labels[i];
    const bool is_one =
        matches_glob(glob, label.text) || matches_glob(glob, path_of_label(recording, i));
    const Answer own = label.is_lost && !is_one ? Answer(Answer::kOpen) : Answer(is_one);
    // Those around a label come before it.
    answers.push_back(label.parent < i ? std::max(own, answers[label.parent]) : own);
  }
  return answers;
}

std::string name_of_alignment(std::uint32_t log2_alignment) {
  if (log2_alignment == 0) return "none requested";
  if (log2_alignment >= 64) return fmt::format("2^{} B", log2_alignment);
  const Bytes alignment = Bytes{1} << log2_alignment;
  const Unit unit = unit_of(alignment);
  return fmt::format("{} {}", alignment / unit.bytes, unit.name);
}

std::uint32_t size_class_of(Bytes size) { return static_cast<std::uint32_t>(std::bit_width(size)); }

Bytes least_of(std::size_t size_class) {
  return size_class == 0 ? 0 : Bytes{1} << (size_class - 1);
}

std::string name_of_size_class(std::uint32_t size_class) {
  const Bytes least = least_of(size_class);
  if (least < 2) return fmt::format("{} B", least);
  if (least < kKiB) {
    const bool is_last = least * 2 == kKiB;
    return is_last ? "512-1023 B" : fmt::format("{}-{} B", least, least * 2 - 1);
  }
  const Unit unit = unit_of(least);
  const Unit next = unit_of(least * 2);
  if (unit.bytes == next.bytes || least > ~Bytes{0} / 2) {
    return fmt::format("{}-{} {}", least / unit.bytes, least / unit.bytes * 2, unit.name);
  }
  return fmt::format("{} {}-1 {}", least / unit.bytes, unit.name, next.name);
}

std::string name_of_heap(const Recording& recording, std::uint32_t heap) {
  return heap == kProcessHeap ? "[process]" : recording.heaps[heap].text;
}

}  // namespace geiger::profile
