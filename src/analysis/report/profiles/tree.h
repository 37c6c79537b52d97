// `tree`: who called whom to allocate, from the root down or from the leaf up.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/present/format.h"
#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/select/profile.h"

namespace geiger::report {

struct TreeOptions {
  bool is_inverted = false;
  double min_percent = 1.0;  ///< Branches with less of the total are left out; 0..100.
  double level = 0.95;       ///< In (0, 1).
  present::Scope scope;      ///< What part of the recording the profile is of.
};

struct TreeLine {
  std::string name;
  profile::SourceLine where;   ///< The line with most of it.
  std::uint32_t parent = 0;    ///< Index of a line above; the root's is its own.
  std::uint32_t children = 0;  ///< Lines below that name this one as parent.
  present::Measure self, total;
  present::Share share;
};

struct TreeReport {
  profile::Kind kind = profile::Kind::kAllocated;
  TreeOptions options;
  bool is_split = false;        ///< A quarter of the samples chose the peak.
  std::uint64_t nodes = 0;      ///< Before branches were left out.
  std::vector<TreeLine> lines;  ///< Depth first; line 0 is the root.
  /// The exact total, where branches are calibrated to it.
  std::optional<estimation::KnownTotal> calibrated_to;
  std::set<std::string> absent = {};  ///< present::absent_modules().
};

/// Builds the tree, cuts small branches and estimates the rest. Needs no
/// recursion, so the depth of stacks does not matter.
[[nodiscard]] TreeReport tree_report(const profile::Recording& recording,
                                     const profile::Profile& profile, const TreeOptions& options);

[[nodiscard]] std::string to_text(const TreeReport& report, const present::Style& style);
/// Nodes in one flat array, each naming its parent: deep trees stay readable by
/// parsers that limit nesting.
[[nodiscard]] std::string to_json(const TreeReport& report);
[[nodiscard]] const present::Fields<TreeReport>& fields_of(present::Of<TreeReport> /*type*/);

}  // namespace geiger::report
