// Draws what `geiger live` shows as lines of a screen of any size, without a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "analysis/present/style.h"
#include "analysis/report/profiles/live.h"
#include "live/history.h"
#include "terminal/screen_line.h"

namespace geiger::live {

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
