#include "cli/live_selection.h"

#include <utility>
#include <vector>

#include "cli/filters.h"

namespace geiger::cli {
namespace {

std::string alternatives(const std::vector<std::string>& expressions) {
  std::string all;
  for (const std::string& one : expressions) all += (all.empty() ? "" : "|") + one;
  return all;
}

}  // namespace

Outcome<LiveSelection> LiveSelection::of(const SelectionOptions& options) {
  using Result = Outcome<LiveSelection>;
  auto rules = frame_rules_of(options.frames);
  if (!rules.has_value()) return Result::failure(rules.reason());
  std::vector<std::string> remarks;
  const auto filter = filter_of(options, profile::Recording(), remarks);
  if (!filter.has_value()) return Result::failure(filter.reason());
  LiveSelection selection;
  selection.options_ = options;
  selection.rules_ = std::move(rules.value());
  return selection;
}

void LiveSelection::apply(profile::Recording& picture, report::LiveOptions& live) const {
  picture.frame_rules = rules_;
  // What no stack matches yet, one may match later: nothing to remark on.
  std::vector<std::string> remarks;
  live.keeps = std::move(filter_of(options_, picture, remarks).value());
  live.table.scope = scope_as_typed(options_);
}

SelectionOptions with_expression(SelectionOptions options, const std::string& which,
                                 const std::string& expression) {
  if (which == "focus") options.focus = expression;
  if (which == "ignore") options.ignore = expression;
  if (which != "hide") return options;
  options.frames.hidden.clear();
  if (!expression.empty()) options.frames.hidden.push_back(expression);
  return options;
}

std::string expression_of(const SelectionOptions& options, const std::string& which) {
  if (which == "focus") return options.focus;
  return which == "ignore" ? options.ignore : alternatives(options.frames.hidden);
}

}  // namespace geiger::cli
