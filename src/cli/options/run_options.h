// The options of `geiger run`.
#pragma once

#include <string>
#include <vector>

#include "base/outcome.h"
#include "run/supervisor.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace geiger::cli {

/// Adds the verb to `app`. The program's words are not CLI11's to judge: each is
/// given as a hidden option, made by `as_program_word`. `options` outlives the parse.
CLI::App* add_run_options(CLI::App& app, run::RunOptions& options);

/// Decides between a fixed interval and one that regulates itself, which takes over a budget that
/// is a share of processor time. `usual`: where --interval is not given.
base::Outcome<void> settle_interval(run::RunOptions& options, run::IntervalWish usual);

/// --mark-on, --snapshot-on, --keep, --budget. `watch` outlives the parse.
void add_watch_options(CLI::App& verb, control::WatchOptions& watch);
/// --content. `options` outlives the parse.
CLI::Option* add_content_option(CLI::App& verb, run::RunOptions& options);
/// --holders; `usual` is meant by it alone: "peak", or "end" for a recording that geiger ends.
void add_holders_option(CLI::App& verb, control::WatchOptions& watch, const std::string& usual);

/// The setting of guard mode (trace::FileHeader::guard_setting) for "1/N[,exact]", and "1" for 1/1.
[[nodiscard]] base::Outcome<std::uint32_t> parse_guard(const std::string& text);

/// What `run` and `attach` share. `options` outlives the parse.
void add_output_options(CLI::App& run, run::RunOptions& options);
void add_sampling_options(CLI::App& run, run::RunOptions& options);
void add_bounds(CLI::App& run, run::RunOptions& options);
void add_duration_option(CLI::App& verb, run::RunOptions& options, const char* help);

/// What takes the words made by `as_program_word`. `program` outlives the parse.
CLI::Option* add_program_words(CLI::App& verb, std::vector<std::string>& program);

/// One word of the program's command line, in a form that no parser touches.
[[nodiscard]] std::string as_program_word(const std::string& word);

}  // namespace geiger::cli
