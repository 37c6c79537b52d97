#include "live/selection.h"

#include <utility>
#include <vector>

#include "query/filters.h"
#include "query/frame_rules.h"

namespace geiger::live {
namespace {

std::string alternatives(const std::vector<std::string>& expressions) {
  std::string all;
  for (const std::string& one : expressions) all += (all.empty() ? "" : "|") + one;
  return all;
}

}  // namespace

base::Outcome<LiveSelection> LiveSelection::of(const query::SelectionOptions& options,
                                               std::vector<std::string>& remarks) {
  auto rules = GEIGER_TRY(query::frame_rules_of(options.frames, remarks));
  query::Remarks unmatched;  // No stack is known yet.
  GEIGER_TRY(query::filter_of(options, profile::Recording(), unmatched));
  LiveSelection selection;
  selection.options_ = options;
  selection.rules_ = std::move(rules);
  return selection;
}

void LiveSelection::apply(profile::Recording& picture, report::LiveOptions& live) const {
  picture.frame_rules = rules_;
  // What no stack matches yet, one may match later: nothing to remark on.
  query::Remarks remarks;
  live.keeps = std::move(query::filter_of(options_, picture, remarks).value());
  live.table.scope = query::scope_as_typed(options_);
  live.table.scope.open = std::move(remarks.open);
}

query::SelectionOptions with_expression(query::SelectionOptions options, const std::string& which,
                                        const std::string& expression) {
  if (which == "focus") options.focus = expression;
  if (which == "ignore") options.ignore = expression;
  if (which != "hide") return options;
  options.frames.hidden.clear();
  if (!expression.empty()) options.frames.hidden.push_back(expression);
  return options;
}

std::string expression_of(const query::SelectionOptions& options, const std::string& which) {
  if (which == "focus") return options.focus;
  return which == "ignore" ? options.ignore : alternatives(options.frames.hidden);
}

}  // namespace geiger::live
