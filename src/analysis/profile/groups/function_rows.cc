#include "analysis/profile/groups/function_rows.h"

#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/profile/frames/shown_path.h"
#include "analysis/profile/frames/stack_answers.h"
#include "analysis/profile/labels.h"
#include "base/index_of.h"

namespace geiger::profile {
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
  const std::vector<std::uint32_t> by_path = modules_by_path(recording);
  RowSet rows(recording);
  std::vector<std::uint32_t> path;
  for (const StackSums& slot : by_stack) {
    path.clear();
    if (slot.stack != kNone) {
      for (const std::uint32_t location : recording.stacks[slot.stack].locations) {
        const std::uint32_t module = recording.locations[location].module;
        path.push_back(module == kNone ? 0 : by_path[module] + 1);  // Group 0: no module.
      }
    }
    if (path.empty()) path.push_back(0);
    rows.add(slot, path);
  }
  const std::vector<std::string> names = module_names(recording);
  return rows.finish([&](std::uint32_t group, Row& row) {
    row.detail = module_path(recording, group - 1U);
    row.name = group == 0 ? row.detail : names[group - 1U];
  });
}

}  // namespace geiger::profile
