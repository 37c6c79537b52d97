// How a program is to be recorded: the options that `run` and `attach` share.
#pragma once

#include <string>
#include <vector>

#include "run/environment.h"
#include "run/supervisor.h"

namespace geiger::run {

/// The kind of value that --interval was given.
enum class IntervalWish { kNone, kAuto, kSize };

struct RunOptions {
  std::vector<std::string> program;  ///< The program and its arguments.
  std::string file;                  ///< -o; empty: a run directory.
  bool replaces = false;
  bool is_quiet = false;
  bool symbolizes = true;
  bool enables_lttng = false;
  std::string allocator;    ///< For find_allocator(); empty: the program's own.
  bool names_node = false;  ///< --node: names of the functions that node compiles.
  bool names_java = false;
  IntervalWish interval = IntervalWish::kNone;
  RuntimeSettings runtime;
  RecordingWindow window;
  ObservationOptions observation;
  control::WatchOptions watch;
};

}  // namespace geiger::run
