// What a chart shows, however it is drawn: svg.h for files, dots.h for terminals.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace geiger::present {

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

}  // namespace geiger::present
