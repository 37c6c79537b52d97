// The terminal of `geiger live`, by ncurses: paints screens, gives keys.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/outcome.h"
#include "live/screen.h"

namespace geiger::live {

enum class Key : std::uint8_t {
  kNone,  ///< Time is up, or the size changed.
  kText,  ///< A character: LiveTerminal::text().
  kEnter,
  kEscape,
  kErase,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
};

/// Takes the whole terminal while it lives and gives it back as it was, also when a signal
/// ends the loop that uses it. One at a time.
class LiveTerminal {
 public:
  /// Fails where there can be no view: standard output is not a terminal, or is one that cannot
  /// move its cursor.
  static base::Outcome<void> check();
  /// Requires that check() succeeds. Fails on a terminal that terminfo does not describe.
  [[nodiscard]] static base::Outcome<std::unique_ptr<LiveTerminal>> open(bool has_color,
                                                                         bool has_unicode);
  ~LiveTerminal();
  LiveTerminal(const LiveTerminal&) = delete;
  LiveTerminal& operator=(const LiveTerminal&) = delete;

  [[nodiscard]] ScreenSize size() const;
  void paint(const terminal::Screen& screen);
  /// The next key, or kNone after this long.
  [[nodiscard]] Key read(std::chrono::milliseconds at_most);
  /// Of kText: one character in UTF-8.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  struct Handles;
  explicit LiveTerminal(std::unique_ptr<Handles> handles);

  std::unique_ptr<Handles> handles_;
  std::string text_;
};

}  // namespace geiger::live
