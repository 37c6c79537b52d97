// Draws what `geiger live` shows as lines of a screen of any size, without a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/present/text.h"
#include "analysis/report/profiles/live.h"
#include "base/units.h"
#include "estimation/estimate.h"
#include "terminal/terminal.h"

namespace geiger::live {

// The past of a live view, in bounded memory.

/// A time span: one update, or several merged ones.
struct HistoryPoint {
  Nanoseconds from = 0, to = 0;
  estimation::Interval live;  ///< Bytes; the ends that enclose those of all looks.
  double resident = 0;        ///< Largest.
};

/// When it is full, neighbours are merged by twos and points last twice as long.
class LiveHistory {
 public:
  void add(Nanoseconds time, const estimation::Interval& live, Bytes resident);

  [[nodiscard]] bool is_empty() const { return points_.empty(); }
  [[nodiscard]] Nanoseconds length() const;
  /// At most `columns` points, the latest last: every point its own, or alike in number.
  [[nodiscard]] std::vector<HistoryPoint> columns(std::size_t columns) const;

 private:
  static constexpr std::size_t kMostPoints = 4096;

  std::vector<HistoryPoint> points_;
  std::size_t updates_per_point_ = 1;
  std::size_t updates_in_last_ = 0;
};

struct ScreenSize {
  std::size_t width = 80, height = 24;
};
/// Below it there is no room for a view.
inline constexpr ScreenSize kLeastScreen{60, 12};

enum class Pane : std::uint8_t { kTable, kRow, kHelp };

/// The user's choices.
struct LiveView {
  std::string shown;  ///< What is looked at.
  report::LiveOptions options;
  std::string filter;
  Pane pane = Pane::kTable;
  std::size_t cursor = 0;  ///< Row, among those that pass the filter.
  std::size_t scroll = 0;  ///< First row on the screen.
  bool is_paused = false;
  bool has_ended = false;
  bool shows_plumbing = false;
  bool counts_itself = false;     ///< Some trace is aggregated: which samples went is unknown.
  std::string prompt;             ///< Asks for a text, if not empty: "filter", "focus".
  std::string typed;              ///< So far.
  std::string message;            ///< Until the next key.
  std::string progress;           ///< Of reading what is there already, if it takes long.
  std::size_t names_missing = 0;  ///< Addresses whose names are still looked up.
  /// Of the last update before the end at which something grew: what is freed at exit hides it.
  report::GrowthReport grew;
};

/// Rows of the table that a screen has room for.
[[nodiscard]] std::size_t table_rows(ScreenSize size);

/// `size.height` lines, none wider than `size.width`. Names in it are printable; whatever the
/// target wrote is text. `picture` is what the report is of.
[[nodiscard]] terminal::Screen draw_live(const LiveView& view, const report::LiveReport& report,
                                         const profile::Recording& picture,
                                         const LiveHistory& history, ScreenSize size,
                                         const present::Style& style);

}  // namespace geiger::live
