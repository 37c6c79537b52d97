// The table of `geiger live`: as many columns as there is room for.
//
// Which columns there are depends on the width alone, and not on the rows as in other tables
// (present/grid.h): otherwise they would come and go from second to second.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/report/profiles/live.h"
#include "terminal/terminal.h"

namespace geiger::live {

/// Headings and the rows of the report's table from number `first` on, at most `most`; number
/// `cursor` is chosen. Lines of `width` at most.
[[nodiscard]] std::vector<terminal::ScreenLine> draw_table(const report::LiveReport& report,
                                                           std::size_t first, std::size_t most,
                                                           std::size_t cursor, std::size_t width,
                                                           const present::Style& style);

}  // namespace geiger::live
