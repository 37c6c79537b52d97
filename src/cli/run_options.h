// The options of `geiger run`.
#pragma once

#include <string>
#include <vector>

#include "cli/environment.h"
#include "cli/supervisor.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace geiger::cli {

/// What --interval says.
enum class IntervalWish { kNone, kAuto, kSize };

struct RunOptions {
  std::vector<std::string> program;  ///< The program and its arguments.
  std::string file;                  ///< -o; empty: a run directory.
  bool replaces = false;
  bool is_quiet = false;
  bool symbolizes = true;
  bool tells_lttng = false;
  IntervalWish interval = IntervalWish::kNone;
  RuntimeSettings runtime;
  RecordingWindow window;
  ObservationOptions observation;
  WatchOptions watch;
};

/// Adds the verb to `app`. The program's words are not CLI11's to judge: each is
/// given as a hidden option, made by `as_program_word`. `options` outlives the parse.
CLI::App* add_run_options(CLI::App& app, RunOptions& options);

/// Decides between a fixed interval and one that regulates itself, which takes over a budget
/// that is a share of processor time. `usual`: where --interval says nothing. Throws
/// CLI::ValidationError.
void settle_interval(RunOptions& options, IntervalWish usual);

/// --mark-on, --snapshot-on, --keep, --budget. `watch` outlives the parse.
void add_watch_options(CLI::App& verb, WatchOptions& watch);

/// What `run` and `attach` share. `options` outlives the parse.
void add_output_options(CLI::App& run, RunOptions& options);
void add_sampling_options(CLI::App& run, RunOptions& options);
void add_duration_option(CLI::App& verb, RunOptions& options, const char* help);

/// What takes the words made by `as_program_word`. `program` outlives the parse.
CLI::Option* add_program_words(CLI::App& verb, std::vector<std::string>& program);

/// One word of the program's command line, in a form that no parser touches.
[[nodiscard]] std::string as_program_word(const std::string& word);

}  // namespace geiger::cli
