// The keys of `geiger live`, as lines of its screen.
#pragma once

#include "cli/screen_line.h"

namespace geiger::cli {

void add_help(Screen& screen);

}  // namespace geiger::cli
