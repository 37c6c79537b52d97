// Charts in a terminal: two by four dots in each character.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/present/charts/chart.h"

namespace geiger::present {

/// The lines of a chart, all `columns` wide: title, plot of `rows` lines with the
/// ticks of the y axis at its left, ticks and label of the x axis. Without unicode
/// one `*` stands for a character with dots. The reference is drawn as a line.
/// `columns` leaves room for a plot beside the tick labels; `rows` >= 2.
[[nodiscard]] std::vector<std::string> draw_dots(const Chart& chart, std::size_t columns,
                                                 std::size_t rows, bool has_unicode);

/// Two pictures side by side, `gap` columns apart.
[[nodiscard]] std::string beside(const std::vector<std::string>& left,
                                 const std::vector<std::string>& right, std::size_t gap);

}  // namespace geiger::present
