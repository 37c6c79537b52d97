// The module libgeiger-curses.so: nothing else of geiger needs ncurses.
#pragma once

#include "live/terminal.h"

namespace geiger::live {

inline constexpr const char* kCursesModule = "libgeiger-curses.so";
inline constexpr const char* kOpenCursesTerminal = "geiger_open_curses_terminal";

}  // namespace geiger::live

/// Takes the terminal, which the caller owns. Null where terminfo does not describe it.
extern "C" geiger::live::LiveTerminal* geiger_open_curses_terminal(bool has_color,
                                                                   bool has_unicode);
