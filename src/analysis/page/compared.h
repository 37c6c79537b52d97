// What changed between two sides of runs, as a page shows it.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/page/call_tree.h"
#include "analysis/page/page.h"

namespace geiger::page {

/// Rows of a table that a page has at most.
inline constexpr std::size_t kMostRows = 1000;

/// The sites of a comparison in a call tree.
class ComparedTree {
 public:
  /// Adds the sites to `tree`; frames are those of the comparison, which knows neither builds nor
  /// versions.
  ComparedTree(const compare::Comparison& comparison, CallTree& tree, Names& names);

  /// Raises the weight of their nodes to their share of either side.
  void weigh(std::vector<double>& weights) const;

  /// The sites that have a node of their own in a pruned tree, by node.
  [[nodiscard]] std::vector<DiffNode> nodes(const Pruned& pruned, UsedNames& names) const;

 private:
  struct Site {
    std::uint32_t node = 0;
    NameIndex verdict = kNoName;
  };

  const compare::Comparison& comparison_;
  std::vector<Site> sites_;  ///< Of each row.
};

/// Sides, total and tables; `left_out` gets what kMostRows cut off.
[[nodiscard]] Diff diff_of(const ComparedRuns& runs, std::vector<std::string>& left_out);

}  // namespace geiger::page
