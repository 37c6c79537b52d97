// Trees, and the tables that group stacks, start from the sums per stack: a profile has
// far fewer stacks than entries. Rows of stacks are made in view.cc, the other tables in
// groupings.cc.
//
// All adding is done in an order that follows from what is added, not from where it
// was read: sizes within a stack, stacks by their sums, children by theirs. So the
// same traces give the same bits in whatever order they are read.
#include "analysis/profile/groups/view.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/frames/stack_answers.h"
#include "analysis/profile/groups/groupings.h"
#include "analysis/profile/recording/recording.h"
#include "base/index_of.h"
#include "estimation/sums.h"

namespace geiger::profile {

// Tables with rows made from stacks: one row per function to blame, per line, per stack or per
// module.

/// Rows in no particular order. Of functions and lines: `self` of what they are to blame for,
/// `total` of all stacks that they are in and not left out of.
[[nodiscard]] std::vector<Row> table_of_functions(const Recording& recording,
                                                  const std::vector<StackSums>& by_stack);
[[nodiscard]] std::vector<Row> table_of_lines(const Recording& recording,
                                              const std::vector<StackSums>& by_stack);
[[nodiscard]] std::vector<Row> table_of_stacks(const Recording& recording,
                                               const std::vector<StackSums>& by_stack);
[[nodiscard]] std::vector<Row> table_of_modules(const Recording& recording,
                                                const std::vector<StackSums>& by_stack);

namespace {

constexpr std::string_view kNoModule = "[no module]";

std::string module_path(const Recording& recording, std::uint32_t module) {
  return module == kNone ? std::string(kNoModule) : recording.modules[module].path;
}

/// Rows by number, made on first use; a stack adds to each total once. Stacks that are not whole
/// may pass through any other row too, so they are open in its total.
class RowSet {
 public:
  explicit RowSet(const Recording& recording) : recording_(recording) {}

  /// Adds a stack whose frames belong to `groups`, leaf first.
  void add(const StackSums& slot, std::span<const std::uint32_t> groups) {
    ++stacks_;
    const bool is_cut = !is_whole(recording_, slot.stack);
    if (is_cut) cut_.merge(slot.sums);
    row(groups[0], slot).self.merge(slot.sums);
    for (const std::uint32_t group : groups) {
      Row& known = row(group, slot);
      if (std::exchange(last_stack_[group], stacks_) == stacks_) continue;
      known.total.merge(slot.sums);
      if (is_cut) cut_of_[group].merge(slot.sums);
    }
  }

  /// Names each row by its group and hands all of them over.
  std::vector<Row> finish(const std::function<void(std::uint32_t, Row&)>& describe) {
    const bool has_cut = cut_.samples + cut_.certain_samples > 0 || cut_.has_open();
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      describe(groups_[i], rows_[i]);
      if (has_cut) rows_[i].total.leave_open(rest_of_cut(groups_[i]));
    }
    return std::move(rows_);
  }

 private:
  [[nodiscard]] estimation::NodeSums rest_of_cut(std::uint32_t group) const {
    const auto own = cut_of_.find(group);
    return own == cut_of_.end() ? cut_.at_most() : estimation::rest_of(own->second, cut_).at_most();
  }

  Row& row(std::uint32_t group, const StackSums& slot) {
    if (group >= row_of_.size()) {
      row_of_.resize(group + 1U, kNone);
      last_stack_.resize(group + 1U, 0);
    }
    if (row_of_[group] == kNone) {
      row_of_[group] = static_cast<std::uint32_t>(rows_.size());
      rows_.push_back({.name = {}, .detail = {}, .stack = slot.stack, .self = {}, .total = {}});
      // What could have been sampled here could have been in every row.
      rows_.back().self.could_have_sampled(slot.sums);
      groups_.push_back(group);
    }
    return rows_[row_of_[group]];
  }

  const Recording& recording_;
  estimation::NodeSums cut_;  ///< Of stacks that are not whole.
  std::unordered_map<std::uint32_t, estimation::NodeSums> cut_of_;  ///< Of them by group.
  std::vector<std::uint32_t> row_of_;
  std::vector<std::uint64_t> last_stack_;  ///< Number of the last stack added to the total.
  std::vector<std::uint32_t> groups_;      ///< Per row.
  std::vector<Row> rows_;
  std::uint64_t stacks_ = 0;
};

void describe_function(const Labels& labels, std::uint32_t label, Row& row) {
  row.name = labels[label].name;
  if (!labels[label].is_frame()) return;
  const std::uint32_t module = labels[label].module;
  row.detail = module == kNone ? kNoModule : labels.module_name(module);
}

}  // namespace

std::vector<Row> table_of_functions(const Recording& recording,
                                    const std::vector<StackSums>& by_stack) {
  ShownPath shown(recording);
  LinesOfGroups lines(recording);
  RowSet rows(recording);
  for (const StackSums& slot : by_stack) {
    shown.of(slot.stack);
    rows.add(slot, shown.path());
    lines.add(shown.path()[0], shown.frames()[0], slot.sums.all_bytes());
  }
  return rows.finish([&](std::uint32_t group, Row& row) {
    describe_function(shown.labels(), group, row);
    row.where = lines.heaviest(group);
  });
}

std::vector<Row> table_of_lines(const Recording& recording,
                                const std::vector<StackSums>& by_stack) {
  struct Place {
    std::uint32_t label, frame;
  };
  ShownPath shown(recording);
  std::map<std::tuple<std::uint32_t, std::string_view, std::uint32_t>, std::uint32_t> known;
  std::vector<Place> places;
  const auto number_of = [&](std::uint32_t label, std::uint32_t frame) {
    const Frame* line = frame == kNone ? nullptr : &recording.frames[frame];
    const auto key = line == nullptr ? std::tuple(label, std::string_view(), 0U)
                                     : std::tuple(label, std::string_view(line->file), line->line);
    return base::index_of(known, key, places, {label, frame});
  };
  RowSet rows(recording);
  std::vector<std::uint32_t> groups;
  for (const StackSums& slot : by_stack) {
    shown.of(slot.stack);
    groups.clear();
    for (std::size_t i = 0; i < shown.path().size(); ++i) {
      groups.push_back(number_of(shown.path()[i], shown.frames()[i]));
    }
    rows.add(slot, groups);
  }
  return rows.finish([&](std::uint32_t group, Row& row) {
    describe_function(shown.labels(), places[group].label, row);
    row.where = source_line_of(recording, places[group].frame);
  });
}

std::vector<Row> table_of_stacks(const Recording& recording,
                                 const std::vector<StackSums>& by_stack) {
  ShownPath shown(recording);
  std::vector<Row> rows;
  rows.reserve(by_stack.size());
  for (const StackSums& slot : by_stack) {
    shown.of(slot.stack);
    const std::vector<std::uint32_t>& path = shown.path();
    rows.push_back({.name = shown.labels()[path[0]].name,
                    .detail = nearest_callers(shown.labels(), path),
                    .stack = slot.stack,
                    .self = slot.sums,
                    .total = slot.sums,
                    .where = source_line_of(recording, shown.frames()[0])});
  }
  return rows;
}

std::vector<Row> table_of_modules(const Recording& recording,
                                  const std::vector<StackSums>& by_stack) {
  const ModuleFiles files(recording);
  RowSet rows(recording);
  std::vector<std::uint32_t> path;
  for (const StackSums& slot : by_stack) {
    path.clear();
    if (slot.stack != kNone) {
      for (const std::uint32_t location : recording.stacks[slot.stack].locations) {
        const std::uint32_t module = recording.locations[location].module;
        path.push_back(module == kNone ? 0 : files.first_of(module) + 1);  // Group 0: no module.
      }
    }
    if (path.empty()) path.push_back(0);
    rows.add(slot, path);
  }
  return rows.finish([&](std::uint32_t group, Row& row) {
    row.detail = module_path(recording, group - 1U);
    for (std::uint32_t i = 0; group != 0 && i < recording.modules.size(); ++i) {
      const bool is_release = i != group - 1U && files.first_of(i) == group - 1U &&
                              row.detail.find(recording.modules[i].path) == std::string::npos;
      if (is_release) row.detail += ", " + recording.modules[i].path;
    }
    row.name = group == 0 ? row.detail : files.name(group - 1U);
  });
}

namespace {

void sort_rows(std::vector<Row>& rows) {
  std::ranges::stable_sort(rows, [](const Row& a, const Row& b) {
    const double left = a.total.all_bytes();
    const double right = b.total.all_bytes();
    if (left != right) return left > right;
    const auto order = std::tie(a.name, a.detail) <=> std::tie(b.name, b.detail);
    return std::is_eq(order) ? a.total < b.total : std::is_lt(order);
  });
}

/// Finds the nodes of a tree path by path, then makes them all at once: nodes are
/// large, and growing a vector of millions would cost them twice over.
class TreeBuilder {
 public:
  TreeBuilder(const Recording& recording, bool inverted)
      : recording_(recording), shown_(recording), lines_(recording), is_inverted_(inverted) {
    shapes_.push_back({});
  }

  void add(const StackSums& slot) {
    shown_.of(slot.stack);
    path_ = shown_.path();
    frames_ = shown_.frames();
    const bool is_truncated = slot.stack != kNone && recording_.stacks[slot.stack].is_truncated;
    if (is_truncated) {
      path_.push_back(Labels::kTruncated);
      frames_.push_back(kNone);
    }
    if (!is_inverted_) {
      std::ranges::reverse(path_);
      std::ranges::reverse(frames_);
    }
    const double bytes = slot.sums.all_bytes();
    std::uint32_t node = 0;
    for (std::size_t i = 0; i < path_.size(); ++i) {
      node = child(node, path_[i]);
      if (frames_[i] != kNone) add_line(node, frames_[i], bytes);
    }
    ends_.push_back(node);
  }

  /// `slots`: those that were added, in the same order.
  [[nodiscard]] Tree finish(const std::vector<StackSums>& slots) {
    known_ = {};
    Tree tree;
    tree.nodes.resize(shapes_.size());
    for (std::size_t i = 0; i < slots.size(); ++i) tree.nodes[ends_[i]].self.merge(slots[i].sums);
    for (std::uint32_t i = 0; i < shapes_.size(); ++i) describe(tree.nodes[i], i);
    for (std::uint32_t i = 1; i < shapes_.size(); ++i) {
      tree.nodes[shapes_[i].parent].children.push_back(i);
    }
    for (std::size_t i = shapes_.size(); i-- > 0;) complete(tree, tree.nodes[i]);
    return tree;
  }

 private:
  struct Shape {
    std::uint32_t parent = 0;
    std::uint32_t label = 0;
    std::uint32_t children = 0;
    std::uint32_t frame = kNone;  ///< The first one.
    double bytes = 0;             ///< On its line, until there is another one.
    bool has_lines = false;       ///< All of them are in lines_: most nodes have one.
  };

  void add_line(std::uint32_t node, std::uint32_t frame, double bytes) {
    Shape& shape = shapes_[node];
    if (shape.frame == kNone) shape.frame = frame;
    const Frame& first = recording_.frames[shape.frame];
    const Frame& other = recording_.frames[frame];
    if (!shape.has_lines && first.line == other.line && first.file == other.file) {
      shape.bytes += bytes;
      return;
    }
    if (!shape.has_lines) lines_.add(node, shape.frame, shape.bytes);
    shape.has_lines = true;
    lines_.add(node, frame, bytes);
  }

  std::uint32_t child(std::uint32_t parent, std::uint32_t label) {
    const auto next = static_cast<std::uint32_t>(shapes_.size());
    const auto [place, is_new] = known_.try_emplace(std::uint64_t{parent} << 32 | label, next);
    if (!is_new) return place->second;
    shapes_.push_back({parent, label});
    ++shapes_[parent].children;
    return next;
  }

  void describe(TreeNode& node, std::uint32_t index) const {
    node.children.reserve(shapes_[index].children);
    if (index == 0) return;
    const Label& label = shown_.labels()[shapes_[index].label];
    node.frame_or_location = label.frame_or_location;
    node.is_location = label.is_location;
    node.name = label.name;
    node.where = shapes_[index].has_lines ? lines_.heaviest(index)
                                          : source_line_of(recording_, shapes_[index].frame);
  }

  /// Adds up a node whose children are complete, in their order.
  static void complete(const Tree& tree, TreeNode& node) {
    sort_children(tree, node);
    node.total.merge(node.self);
    for (const std::uint32_t child : node.children) node.total.merge(tree.nodes[child].total);
  }

  static void sort_children(const Tree& tree, TreeNode& node) {
    std::ranges::stable_sort(node.children, [&tree](std::uint32_t left, std::uint32_t right) {
      const TreeNode& a = tree.nodes[left];
      const TreeNode& b = tree.nodes[right];
      const double more = a.total.all_bytes(), less = b.total.all_bytes();
      if (more != less) return more > less;
      return a.name != b.name ? a.name < b.name : a.total < b.total;
    });
  }

  const Recording& recording_;
  ShownPath shown_;
  LinesOfGroups lines_;  ///< By node.
  const bool is_inverted_;
  std::vector<Shape> shapes_;        ///< Per node; 0 is the root.
  std::vector<std::uint32_t> ends_;  ///< Per stack added, the node it ends at.
  tsl::robin_map<std::uint64_t, std::uint32_t, SpreadHash> known_;
  std::vector<std::uint32_t> path_, frames_;
};

}  // namespace

std::vector<StackSums> sums_by_stack(const Recording& recording, const Profile& profile) {
  // kNone wraps to 0.
  const auto group_of = [](const Entry& entry) { return entry.stack + 1U; };
  std::vector<StackSums> used;
  for (GroupSums& group : sums_by(recording, profile, recording.stacks.size() + 1, group_of)) {
    used.push_back({group.group - 1U, group.sums});
  }
  return used;
}

std::vector<Row> table(const Recording& recording, const Profile& profile, GroupBy group) {
  if (!is_of_stacks(group)) {
    std::vector<Row> rows = table_of_groups(recording, profile, group);
    sort_rows(rows);
    return rows;
  }
  const std::vector<StackSums> by_stack = sums_by_stack(recording, profile);
  std::vector<Row> rows;
  switch (group) {
    case GroupBy::kFunction:
      rows = table_of_functions(recording, by_stack);
      break;
    case GroupBy::kLine:
      rows = table_of_lines(recording, by_stack);
      break;
    case GroupBy::kStack:
      rows = table_of_stacks(recording, by_stack);
      break;
    case GroupBy::kModule:
      rows = table_of_modules(recording, by_stack);
      break;
    default:
      break;
  }
  sort_rows(rows);
  return rows;
}

Tree tree(const Recording& recording, const Profile& profile, bool inverted) {
  const std::vector<StackSums> by_stack = sums_by_stack(recording, profile);
  TreeBuilder builder(recording, inverted);
  for (const StackSums& slot : by_stack) builder.add(slot);
  Tree built = builder.finish(by_stack);
  built.nodes[0].total.could_have_sampled(profile.largest_interval, profile.largest_ratio);
  return built;
}

}  // namespace geiger::profile
