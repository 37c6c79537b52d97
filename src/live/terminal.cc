#include "live/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/check.h"
#include "live/curses_terminal.h"
#include "modules/module.h"

namespace geiger::live {

base::Outcome<void> LiveTerminal::check() {
  if (isatty(STDOUT_FILENO) != 1) return base::Failure{"stdout is not a terminal"};
  const char* type = std::getenv("TERM");
  if (type == nullptr || *type == '\0') return base::Failure{"TERM is not set"};
  if (std::string_view(type) == "dumb") {
    return base::Failure{"this terminal cannot move its cursor (TERM=dumb)"};
  }
  return {};
}

base::Outcome<std::unique_ptr<LiveTerminal>> LiveTerminal::open(bool has_color, bool has_unicode) {
  GEIGER_ASSERT(check().has_value());
  const auto made = GEIGER_TRY(modules::call<decltype(geiger_open_curses_terminal)>(
      kCursesModule, kOpenCursesTerminal, has_color, has_unicode));
  std::unique_ptr<LiveTerminal> opened(made);
  if (!opened) {
    return base::Failure{"unknown terminal type " + std::string(std::getenv("TERM")) + " (TERM)"};
  }
  return opened;
}

}  // namespace geiger::live
