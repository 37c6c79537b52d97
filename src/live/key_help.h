// The keys of `geiger live`, as lines of its screen.
#pragma once

#include "terminal/screen_line.h"

namespace geiger::live {

void add_help(terminal::Screen& screen);

}  // namespace geiger::live
