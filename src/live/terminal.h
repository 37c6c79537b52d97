// The terminal of `geiger live`: paints screens, gives keys.
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
  kHangUp,  ///< The terminal is gone. Signals do not always report this.
};

/// Takes the whole terminal while it lives and gives it back as it was, also when a signal
/// ends the loop that uses it. One at a time.
class LiveTerminal {
 public:
  /// Fails where there can be no view: standard output is not a terminal, or is one that cannot
  /// move its cursor.
  static base::Outcome<void> check();
  /// Requires that check() succeeds. Fails on a terminal that terminfo does not describe, and
  /// where the module with ncurses cannot be loaded.
  [[nodiscard]] static base::Outcome<std::unique_ptr<LiveTerminal>> open(bool has_color,
                                                                         bool has_unicode);
  LiveTerminal() = default;
  virtual ~LiveTerminal() = default;
  LiveTerminal(const LiveTerminal&) = delete;
  LiveTerminal& operator=(const LiveTerminal&) = delete;

  [[nodiscard]] virtual ScreenSize size() const = 0;
  virtual void paint(const terminal::Screen& screen) = 0;
  /// The next key, or kNone after this long.
  [[nodiscard]] virtual Key read(std::chrono::milliseconds at_most) = 0;
  /// Of kText: one character in UTF-8.
  [[nodiscard]] virtual const std::string& text() const = 0;
};

}  // namespace geiger::live
