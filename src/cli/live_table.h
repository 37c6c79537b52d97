// The table of `geiger live`: as many columns as there is room for.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analysis/report/live.h"
#include "cli/screen_line.h"

namespace geiger::cli {

/// Headings and the rows of the report's table from number `first` on, at most `most`; number
/// `cursor` is chosen. Lines of `width` at most.
[[nodiscard]] std::vector<ScreenLine> draw_table(const report::LiveReport& report,
                                                 std::size_t first, std::size_t most,
                                                 std::size_t cursor, std::size_t width,
                                                 const report::Style& style);

}  // namespace geiger::cli
