// `simulate`: the coverage table as text, JSON and a picture.
#pragma once

#include <string>
#include <vector>

#include "analysis/present/style.h"
#include "estimation/study/coverage_table.h"
#include "estimation/study/schemes.h"

namespace geiger::report {

/// Cells of one mix, in the order of CoverageReport::samples.
struct MixRow {
  estimation::Mix mix = estimation::Mix::kConst16;
  std::vector<estimation::CellTally> cells;
};

/// Cells of one pattern, in the same order.
struct PatternRow {
  estimation::Pattern pattern = estimation::Pattern::kEveryFourth;
  std::vector<estimation::PatternTally> cells;
};

struct CoverageReport {
  estimation::TableSettings settings;
  std::vector<double> samples;  ///< Expected ones, ascending.
  std::vector<MixRow> mixes;
  std::vector<PatternRow> patterns;
  bool has_widths = false;  ///< Also print mean widths.
};

[[nodiscard]] std::string to_text(const CoverageReport& report, const present::Style& style);
[[nodiscard]] std::string to_json(const CoverageReport& report);
/// Of the mixes; without any, of the patterns.
[[nodiscard]] std::string to_svg(const CoverageReport& report);

}  // namespace geiger::report
