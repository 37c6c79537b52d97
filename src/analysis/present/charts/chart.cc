#include "analysis/present/charts/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "analysis/present/text.h"
#include "base/utf8.h"

namespace geiger::present {

double Axis::place(double value) const {
  const double low = is_logarithmic ? std::log(least) : least;
  const double high = is_logarithmic ? std::log(most) : most;
  const double here = is_logarithmic ? std::log(std::max(value, least)) : value;
  return std::clamp((here - low) / (high - low), 0.0, 1.0);
}

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

namespace {

constexpr double kChartWidth = 330;
constexpr double kChartHeight = 210;
constexpr double kLeft = 58;   // For the labels of the y axis.
constexpr double kRight = 30;  // Half of the last tick label of the x axis.
constexpr double kTop = 34;
constexpr double kBottom = 46;
constexpr double kHeader = 62;
constexpr double kLegendLine = 20;
constexpr double kLegendEntry = 128;

constexpr std::array<std::string_view, 6> kColors{"#0072B2", "#D55E00", "#009E73",
                                                  "#CC79A7", "#8A6D00", "#333333"};
constexpr std::array<std::string_view, 6> kDashes{"", "7 3", "2 3", "9 3 2 3", "5 2", "1 2"};

/// Text between tags: markup escaped, what XML cannot hold replaced.
std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    const bool is_control = point.value < 0x20 && point.value != '\t';
    if (!point.is_valid || is_control) {
      out += "\xef\xbf\xbd";
    } else if (point.value == U'&') {
      out += "&amp;";
    } else if (point.value == U'<') {
      out += "&lt;";
    } else if (point.value == U'>') {
      out += "&gt;";
    } else {
      out += text.substr(0, point.length);
    }
    text.remove_prefix(point.length);
  }
  return out;
}

enum class Anchor { kStart, kMiddle, kEnd };

/// The picture so far.
class Canvas {
 public:
  void line(ChartPoint from, ChartPoint to, std::string_view color, double width,
            std::string_view dashes = "") {
    add("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"{}\"{}/>\n",
        from.x, from.y, to.x, to.y, color, width, dash(dashes));
  }

  void text(ChartPoint at, std::string_view words, Anchor anchor, double size,
            std::string_view more = "") {
    constexpr std::array<std::string_view, 3> kAnchors{"start", "middle", "end"};
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\"{}>{}</text>\n", at.x,
        at.y, kAnchors[static_cast<std::size_t>(anchor)], size, more, escaped(words));
  }

  void polyline(const std::vector<ChartPoint>& points, std::string_view color,
                std::string_view dashes) {
    if (points.size() < 2) return;
    add(R"(<polyline fill="none" stroke="{}" stroke-width="1.8"{} points=")", color, dash(dashes));
    for (const ChartPoint& point : points) add("{:.1f},{:.1f} ", point.x, point.y);
    add("\"/>\n");
  }

  /// One shape for each curve, so that curves can be distinguished without colour.
  void marker(std::size_t curve, ChartPoint at) {
    const std::string_view color = kColors[curve % kColors.size()];
    constexpr std::array<std::string_view, 6> kShapes{"M-3,0a3,3 0 1,0 6,0a3,3 0 1,0 -6,0z",
                                                      "M-2.7,-2.7h5.4v5.4h-5.4z",
                                                      "M0,-3.6L3.4,2.6H-3.4z",
                                                      "M0,-3.8L3.8,0L0,3.8L-3.8,0z",
                                                      "M-3,-3L3,3M-3,3L3,-3",
                                                      "M0,-3.6V3.6M-3.6,0H3.6"};
    const bool is_open = curve % kShapes.size() >= 4;
    add("<path transform=\"translate({:.1f},{:.1f})\" d=\"{}\" fill=\"{}\" stroke=\"{}\" "
        "stroke-width=\"{}\"/>\n",
        at.x, at.y, kShapes[curve % kShapes.size()], is_open ? "none" : color, color,
        is_open ? 1.6 : 0.5);
  }

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  template <typename... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
  }
  static std::string dash(std::string_view dashes) {
    return dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dashes);
  }

  std::string out_;
};

/// One chart at a place of the sheet.
class ChartDrawing {
 public:
  ChartDrawing(Canvas& canvas, const Chart& chart, ChartPoint origin)
      : canvas_(canvas), chart_(chart), origin_(origin) {}

  void draw() {
    canvas_.text({left(), origin_.y + kTop - 10}, chart_.title, Anchor::kStart, 13,
                 " font-weight=\"bold\"");
    draw_axes();
    if (chart_.reference) {
      const double y = at({chart_.x.least, *chart_.reference}).y;
      canvas_.line({left(), y}, {right(), y}, "#555555", 1.2, "3 3");
    }
    // The first curve lies on top.
    for (std::size_t i = chart_.curves.size(); i > 0; --i) draw_curve(i - 1);
  }

 private:
  [[nodiscard]] double left() const { return origin_.x + kLeft; }
  [[nodiscard]] double right() const { return origin_.x + kChartWidth - kRight; }
  [[nodiscard]] double top() const { return origin_.y + kTop; }
  [[nodiscard]] double bottom() const { return origin_.y + kChartHeight - kBottom; }

  [[nodiscard]] ChartPoint at(ChartPoint point) const {
    return {left() + chart_.x.place(point.x) * (right() - left()),
            bottom() - chart_.y.place(point.y) * (bottom() - top())};
  }

  void draw_axes() {
    for (const Tick& tick : chart_.y.ticks) {
      const double y = at({chart_.x.least, tick.value}).y;
      canvas_.line({left(), y}, {right(), y}, "#e2e2e2", 1);
      canvas_.text({left() - 6, y + 4}, tick.label, Anchor::kEnd, 11);
    }
    for (const Tick& tick : chart_.x.ticks) {
      const double x = at({tick.value, chart_.y.least}).x;
      canvas_.line({x, bottom()}, {x, bottom() + 4}, "#222222", 1);
      canvas_.text({x, bottom() + 17}, tick.label, Anchor::kMiddle, 11);
    }
    canvas_.line({left(), bottom()}, {right(), bottom()}, "#222222", 1);
    canvas_.line({left(), top()}, {left(), bottom()}, "#222222", 1);
    canvas_.text({(left() + right()) / 2, bottom() + 34}, chart_.x.label, Anchor::kMiddle, 11);
    const double middle = (top() + bottom()) / 2;
    canvas_.text({origin_.x + 14, middle}, chart_.y.label, Anchor::kMiddle, 11,
                 fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", origin_.x + 14, middle));
  }

  void draw_curve(std::size_t index) {
    constexpr std::size_t kMostMarkers = 16;
    std::vector<ChartPoint> points;
    for (const ChartPoint& point : chart_.curves[index].points) {
      if (std::isfinite(point.x) && std::isfinite(point.y)) points.push_back(at(point));
    }
    canvas_.polyline(points, kColors[index % kColors.size()], kDashes[index % kDashes.size()]);
    const std::size_t step = points.size() / kMostMarkers + 1;
    for (std::size_t i = 0; i < points.size(); i += step) canvas_.marker(index, points[i]);
  }

  Canvas& canvas_;
  const Chart& chart_;
  ChartPoint origin_;
};

std::vector<std::string> legend_of(const Sheet& sheet) {
  std::vector<std::string> names;
  if (!sheet.charts.empty() && sheet.charts.front().curves.size() > 1) {
    for (const Curve& curve : sheet.charts.front().curves) names.push_back(curve.name);
  }
  if (!sheet.reference_name.empty()) names.push_back(sheet.reference_name);
  return names;
}

void draw_legend(Canvas& canvas, const Sheet& sheet, const std::vector<std::string>& names,
                 std::size_t per_line) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t line = i / per_line;
    const ChartPoint at{16 + kLegendEntry * static_cast<double>(i % per_line),
                        kHeader + kLegendLine * static_cast<double>(line)};
    const bool is_reference = !sheet.reference_name.empty() && i + 1 == names.size();
    const std::string_view color = is_reference ? "#555555" : kColors[i % kColors.size()];
    canvas.line({at.x, at.y - 4}, {at.x + 26, at.y - 4}, color, 1.8,
                is_reference ? "3 3" : kDashes[i % kDashes.size()]);
    if (!is_reference) canvas.marker(i, {at.x + 13, at.y - 4});
    canvas.text({at.x + 32, at.y}, names[i], Anchor::kStart, 12);
  }
}

}  // namespace

std::string draw_svg(const Sheet& sheet) {
  const std::size_t columns = std::max<std::size_t>(1, sheet.columns);
  const std::size_t rows = (sheet.charts.size() + columns - 1) / columns;
  const double width = kChartWidth * static_cast<double>(columns);
  const std::vector<std::string> names = legend_of(sheet);
  const auto per_line = std::max<std::size_t>(1, static_cast<std::size_t>(width / kLegendEntry));
  const std::size_t legend_lines = (names.size() + per_line - 1) / per_line;
  const double legend = kLegendLine * static_cast<double>(legend_lines);
  const double height = kHeader + legend + kChartHeight * static_cast<double>(rows);
  Canvas canvas;
  canvas.text({16, 26}, sheet.title, Anchor::kStart, 16, " font-weight=\"bold\"");
  canvas.text({16, 44}, sheet.subtitle, Anchor::kStart, 11);
  draw_legend(canvas, sheet, names, per_line);
  for (std::size_t i = 0; i < sheet.charts.size(); ++i) {
    const std::size_t row = i / columns;
    ChartDrawing(canvas, sheet.charts[i],
                 {kChartWidth * static_cast<double>(i % columns),
                  kHeader + legend - 12 + kChartHeight * static_cast<double>(row)})
        .draw();
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\" font-family=\"sans-serif\" fill=\"#222222\">\n"
      "<title>{2}</title>\n<desc>{3}</desc>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{4}</svg>\n",
      width, height, escaped(sheet.title), escaped(sheet.subtitle), canvas.take());
}

}  // namespace geiger::present
