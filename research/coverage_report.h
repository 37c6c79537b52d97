// `simulate`: the coverage table as text, JSON and a picture.
#pragma once

#include <string>
#include <vector>

#include "analysis/present/text.h"
#include "research/coverage_table.h"
#include "research/schemes.h"

namespace geiger::research {

/// Cells of one mix, in the order of CoverageReport::samples.
struct MixRow {
  Mix mix = Mix::kConst16;
  std::vector<CellTally> cells;
};

/// Cells of one pattern, in the same order.
struct PatternRow {
  Pattern pattern = Pattern::kEveryFourth;
  std::vector<PatternTally> cells;
};

struct CoverageReport {
  TableSettings settings;
  std::vector<double> samples;  ///< Expected ones, ascending.
  std::vector<MixRow> mixes;
  std::vector<PatternRow> patterns;
  bool has_widths = false;  ///< Also print mean widths.
};

[[nodiscard]] std::string to_text(const CoverageReport& report, const present::Style& style);
[[nodiscard]] std::string to_json(const CoverageReport& report);
/// Of the mixes; without any, of the patterns.
[[nodiscard]] std::string to_svg(const CoverageReport& report);

}  // namespace geiger::research
