#include "analysis/present/charts/dots.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "analysis/present/text.h"

namespace geiger::present {
namespace {

constexpr std::size_t kDotsAcross = 2, kDotsDown = 4;  // Dots in a character.
constexpr char32_t kNoDots = 0x2800;

/// Bits of a braille character by row and column.
constexpr std::array<std::array<std::uint8_t, kDotsAcross>, kDotsDown> kBits{
    {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};

class DotGrid {
 public:
  DotGrid(std::size_t columns, std::size_t rows)
      : columns_(columns), rows_(rows), cells_(columns * rows, 0) {}

  /// `x` and `y` in [0, 1], y upwards.
  void set(double x, double y) {
    const auto across =
        static_cast<std::size_t>(std::lround(x * static_cast<double>(columns_ * kDotsAcross - 1)));
    const auto down =
        static_cast<std::size_t>(std::lround((1 - y) * static_cast<double>(rows_ * kDotsDown - 1)));
    std::uint8_t& cell = cells_[down / kDotsDown * columns_ + across / kDotsAcross];
    cell = static_cast<std::uint8_t>(cell | kBits[down % kDotsDown][across % kDotsAcross]);
  }

  /// Dots close enough to look like a line.
  void line(ChartPoint from, ChartPoint to) {
    const double longest =
        std::max(std::abs(to.x - from.x) * static_cast<double>(columns_ * kDotsAcross),
                 std::abs(to.y - from.y) * static_cast<double>(rows_ * kDotsDown));
    const auto steps = static_cast<std::size_t>(std::ceil(longest)) + 1;
    for (std::size_t i = 0; i <= steps; ++i) {
      const double t = static_cast<double>(i) / static_cast<double>(steps);
      set(from.x + t * (to.x - from.x), from.y + t * (to.y - from.y));
    }
  }

  [[nodiscard]] std::string row(std::size_t row, bool has_unicode) const {
    std::string out;
    for (std::size_t i = 0; i < columns_; ++i) {
      const std::uint8_t bits = cells_[row * columns_ + i];
      if (bits == 0) {
        out += ' ';
      } else if (has_unicode) {
        const char32_t point = kNoDots + bits;
        out += static_cast<char>(0xe0 | point >> 12);
        out += static_cast<char>(0x80 | (point >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (point & 0x3f));
      } else {
        out += '*';
      }
    }
    return out;
  }

 private:
  std::size_t columns_, rows_;
  std::vector<std::uint8_t> cells_;
};

std::size_t row_of(const Axis& axis, double value, std::size_t rows) {
  return static_cast<std::size_t>(
      std::lround((1 - axis.place(value)) * static_cast<double>(rows - 1)));
}

/// Labels of the y ticks by row, each padded to the widest.
std::vector<std::string> left_labels(const Axis& axis, std::size_t rows) {
  std::vector<std::string> labels(rows);
  std::size_t widest = 0;
  for (const Tick& tick : axis.ticks) {
    labels[row_of(axis, tick.value, rows)] = tick.label;
    widest = std::max(widest, columns_of(tick.label));
  }
  for (std::string& label : labels) label = pad_left(label, widest);
  return labels;
}

/// The x ticks below a plot of `columns`, each centred under its place; one that
/// would touch its neighbour is left out.
std::string bottom_labels(const Axis& axis, std::size_t columns) {
  std::string line;
  for (const Tick& tick : axis.ticks) {
    const double centre = axis.place(tick.value) * static_cast<double>(columns - 1);
    const std::size_t width = columns_of(tick.label);
    const double ideal = centre - (static_cast<double>(width) - 1) / 2;
    const auto start = static_cast<std::size_t>(std::clamp(
        std::round(ideal), 0.0, static_cast<double>(columns - std::min(columns, width))));
    const std::size_t used = columns_of(line);
    if (used > 0 && start < used + 1) continue;
    line += std::string(start - std::min(start, used), ' ') + tick.label;
  }
  return line;
}

DotGrid plot(const Chart& chart, std::size_t columns, std::size_t rows) {
  DotGrid grid(columns, rows);
  for (const Curve& curve : chart.curves) {
    const ChartPoint* last = nullptr;
    ChartPoint before;
    for (const ChartPoint& point : curve.points) {
      if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
      const ChartPoint here{chart.x.place(point.x), chart.y.place(point.y)};
      grid.line(last == nullptr ? here : before, here);
      before = here;
      last = &before;
    }
  }
  return grid;
}

}  // namespace

std::vector<std::string> draw_dots(const Chart& chart, std::size_t columns, std::size_t rows,
                                   bool has_unicode) {
  const std::vector<std::string> labels = left_labels(chart.y, rows);
  const std::size_t margin = columns_of(labels.front()) + 2;
  const std::size_t width = columns - std::min(columns - 2, margin);
  DotGrid grid = plot(chart, width, rows);
  if (chart.reference) {
    const double y = chart.y.place(*chart.reference);
    for (std::size_t i = 0; i < width; i += 2) {
      const double x = static_cast<double>(i) / static_cast<double>(width);
      grid.set(x, y);
    }
  }
  std::vector<std::string> lines{pad_right(elide(chart.title, columns), columns)};
  for (std::size_t row = 0; row < rows; ++row) {
    lines.push_back(labels[row] + " │" + grid.row(row, has_unicode));
  }
  std::string axis;
  for (std::size_t i = 0; i < width; ++i) axis += "─";
  lines.push_back(std::string(margin - 1, ' ') + "└" + axis);
  lines.push_back(pad_right(std::string(margin, ' ') + bottom_labels(chart.x, width), columns));
  const std::string label = elide(chart.x.label, columns - margin);
  const std::size_t centre = (width - std::min(width, columns_of(label))) / 2;
  lines.push_back(pad_right(std::string(margin + centre, ' ') + label, columns));
  return lines;
}

std::string beside(const std::vector<std::string>& left, const std::vector<std::string>& right,
                   std::size_t gap) {
  std::size_t widest = 0;
  for (const std::string& line : left) widest = std::max(widest, columns_of(line));
  std::string out;
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    std::string line = i < left.size() ? left[i] : "";
    if (i < right.size()) line = pad_right(line, widest + gap) + right[i];
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace geiger::present
