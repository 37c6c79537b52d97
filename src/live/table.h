// The table of `geiger live`: as many columns as there is room for.
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
