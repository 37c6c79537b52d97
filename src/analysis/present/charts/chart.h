// Charts, drawn as dots in a terminal or as SVG.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace geiger::present {

// What a chart shows, however it is drawn: for files or for terminals.

struct ChartPoint {
  double x = 0;
  double y = 0;
};

/// Points in order of x; those that are not finite are left out.
struct Curve {
  std::string name;
  std::vector<ChartPoint> points;
};

struct Tick {
  double value = 0;
  std::string label;
};

/// `least` < `most`; both positive if logarithmic. Values beyond are drawn at the edge.
struct Axis {
  std::string label;
  double least = 0;
  double most = 1;
  bool is_logarithmic = false;
  std::vector<Tick> ticks;

  /// Where a value lies between the ends: 0 to 1.
  [[nodiscard]] double place(double value) const;
};

struct Chart {
  std::string title;
  Axis x, y;
  std::vector<Curve> curves;        ///< The same names in the same order on one sheet.
  std::optional<double> reference;  ///< A horizontal line, named by the sheet.
};

/// Charts in rows with one legend.
struct Sheet {
  std::string title, subtitle;
  std::string reference_name;  ///< Of the reference lines, in the legend; may be empty.
  std::vector<Chart> charts;
  std::size_t columns = 1;
};

// Charts in a terminal: two by four dots in each character.

/// The lines of a chart, all `columns` wide: title, plot of `rows` lines with the
/// ticks of the y axis at its left, ticks and label of the x axis. Without unicode
/// one `*` stands for a character with dots. The reference is drawn as a line.
/// `columns` leaves room for a plot beside the tick labels; `rows` >= 2.
[[nodiscard]] std::vector<std::string> draw_dots(const Chart& chart, std::size_t columns,
                                                 std::size_t rows, bool has_unicode);

/// Two pictures side by side, `gap` columns apart.
[[nodiscard]] std::string beside(const std::vector<std::string>& left,
                                 const std::vector<std::string>& right, std::size_t gap);

// Charts as SVG: lines over axes, for a browser, a document or a printer. Colours are
// distinguishable by people who see few of them (Okabe and Ito's), and each curve has its own
// marker and dashes, so that charts can be read without colours.

/// A whole SVG document. It says in words what it shows (title and description) and
/// refers to nothing outside itself.
[[nodiscard]] std::string draw_svg(const Sheet& sheet);

}  // namespace geiger::present
