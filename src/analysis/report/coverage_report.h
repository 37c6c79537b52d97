// `simulate`: the coverage table as text, JSON and a picture.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/style.h"
#include "estimation/coverage_table.h"

namespace geiger::report {

/// Cells of one mix, in the order of CoverageReport::samples.
struct MixRow {
  estimation::Mix mix = estimation::Mix::kConst16;
  std::vector<estimation::CellTally> cells;
};

struct CoverageReport {
  estimation::TableSettings settings;
  std::vector<double> samples;  ///< Expected ones, ascending.
  std::vector<MixRow> mixes;
  bool has_widths = false;  ///< Also print mean widths.
};

[[nodiscard]] std::string to_text(const CoverageReport& report, const Style& style);
[[nodiscard]] std::string to_json(const CoverageReport& report);
[[nodiscard]] std::string to_svg(const CoverageReport& report);

}  // namespace geiger::report
