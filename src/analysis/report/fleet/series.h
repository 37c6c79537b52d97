// `fleet series`: allocated and live memory of all hosts, step by step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/present/coverage.h"
#include "analysis/present/heading.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/select/kind_rules.h"
#include "estimation/estimate.h"

namespace geiger::report {

/// Memory of hosts in one step of time.
struct SeriesPoint {
  std::int64_t started = 0;  ///< Unix seconds.
  std::string from;          ///< The same as a date, "2026-05-01T14:00:00Z".
  present::Coverage coverage;
  /// Live is the mean over the step, allocated the sum. Sites have the report's kind only.
  std::optional<estimation::Estimate> allocated, live;
};

/// A function over time.
struct SeriesSite {
  std::string name, detail;
  profile::SourceLine where;
  std::vector<estimation::Estimate> points;  ///< Parallel to those of the report.
};

struct SeriesReport {
  double level = 0.95;
  std::int64_t step = 3600;  ///< Seconds.
  std::size_t top = 0;       ///< Steps that the text lists, the latest ones; 0: all.
  profile::Kind kind = profile::Kind::kAllocated;  ///< Of the sites.
  bool has_sites = false;
  present::Scope scope;
  std::vector<SeriesPoint> points;  ///< In order of time, without unrecorded steps.
  std::vector<SeriesSite> sites;    ///< The largest first.
  std::uint64_t site_count = 0;     ///< Before those with least were left out.
};

/// Values as at most `most_marks` marks of different heights: of several steps in one mark the
/// largest.
[[nodiscard]] std::string marks_of(const std::vector<estimation::Estimate>& points,
                                   std::size_t most_marks, bool has_unicode);

[[nodiscard]] std::string to_text(const SeriesReport& report, const present::Style& style);
[[nodiscard]] std::string to_json(const SeriesReport& report);
[[nodiscard]] const present::Fields<SeriesReport>& fields_of(present::Of<SeriesReport> /*type*/);

}  // namespace geiger::report
