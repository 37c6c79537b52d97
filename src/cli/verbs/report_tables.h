// The comparison on a page.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "analysis/compare/comparison.h"
#include "analysis/page/page.h"
#include "base/outcome.h"

namespace geiger::cli {

/// How the runs of a page are compared: its tree first, then its tables.
inline constexpr std::array<compare::Grouping, 5> kPageGroupings{
    {{profile::GroupBy::kStack, false, true},
     {profile::GroupBy::kFunction, false, false},
     {profile::GroupBy::kFunction, true, false},
     {profile::GroupBy::kStack, false, false},
     {profile::GroupBy::kModule, false, false}}};

/// Compares what was collected for each of them.
[[nodiscard]] inline base::Outcome<page::ComparedRuns> compared_runs(
    std::vector<std::string> before, std::vector<std::string> after,
    std::vector<compare::Collected> all, double level) {
  page::ComparedRuns runs{std::move(before), std::move(after), {}, {}};
  for (compare::Collected& collected : all) {
    GEIGER_TRY(compare::check_comparable(collected, level));
    runs.tables.push_back(compare::compare(std::move(collected), level));
  }
  runs.tree = std::move(runs.tables.front());
  runs.tables.erase(runs.tables.begin());
  return runs;
}

}  // namespace geiger::cli
