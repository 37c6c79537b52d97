// Charts as SVG: lines over axes, for a browser, a document or a printer. Colours are
// distinguishable by people who see few of them (Okabe and Ito's), and each curve has its own
// marker and dashes, so that charts can be read without colours.
#pragma once

#include <string>

#include "analysis/present/charts/chart.h"

namespace geiger::present {

/// A whole SVG document. It says in words what it shows (title and description) and
/// refers to nothing outside itself.
[[nodiscard]] std::string draw_svg(const Sheet& sheet);

}  // namespace geiger::present
