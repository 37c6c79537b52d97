// The table of `geiger live`: as many columns as there is room for.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analysis/report/table.h"
#include "cli/screen_line.h"

namespace geiger::cli {

/// Headings and `rows` of a table, that number `cursor` chosen. Lines of `width` at most.
[[nodiscard]] std::vector<ScreenLine> draw_table(const report::TableReport& table,
                                                 std::span<const report::TableLine> rows,
                                                 std::size_t cursor, std::size_t width,
                                                 const report::Style& style);

}  // namespace geiger::cli
