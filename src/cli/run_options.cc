#include "cli/run_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>

#include "cli/sizes.h"
#include "trace/format.h"

namespace geiger::cli {
namespace {

// A leading character keeps CLI11 from reading an empty word as "no value" and
// "[a,b]" as a list.
constexpr char kGuard = ':';
constexpr const char* kProgramWord = "--program-word";

// Skip counts stay far from 2^63 with it.
constexpr Bytes kLargestInterval = Bytes{1} << 50;

std::function<void(const std::string&)> size_into(Bytes& target, const char* option, Bytes least,
                                                  Bytes most) {
  return [&target, option, least, most](const std::string& text) {
    const auto size = parse_size(text);
    if (!size.has_value()) throw CLI::ValidationError(option, size.reason());
    if (size.value() < least || size.value() > most) {
      const auto range = fmt::format("'{}' is not between {} and {} bytes", text, least, most);
      throw CLI::ValidationError(option, range);
    }
    target = size.value();
  };
}

std::chrono::nanoseconds duration_of(const std::string& text, const char* option) {
  const auto time = parse_duration(text);
  if (!time.has_value()) throw CLI::ValidationError(option, time.reason());
  constexpr Nanoseconds kCentury = Nanoseconds{100} * 365 * 24 * 3600 * 1'000'000'000;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(time.value(), kCentury)));
}

void add_output_options(CLI::App& run, RunOptions& options) {
  run.add_option("-o,--output", options.file, "Write exactly one file, children included")
      ->type_name("FILE");
  run.add_flag("-f,--force", options.replaces, "Replace what an earlier run left there");
  run.add_flag("-q,--quiet", options.is_quiet, "Say nothing unless something is wrong");
  run.add_flag_callback(
      "--no-symbolize", [&options] { options.symbolizes = false; },
      "Leave names and lines for 'geiger symbolize'");
  run.add_option_function<std::string>(
         "--trace-limit",
         size_into(options.runtime.capacity, "--trace-limit", kMiB, trace::kMaxCapacity),
         "Bytes that one trace may take (default 4GiB)")
      ->type_name("SIZE");
}

void add_sampling_options(CLI::App& run, RunOptions& options) {
  RuntimeSettings& runtime = options.runtime;
  run.add_option_function<std::string>(
         "--interval", size_into(runtime.interval, "--interval", 1, kLargestInterval),
         "Sampling interval: mean bytes between sampled bytes\n"
         "(default 512KiB; 1 records every allocation)")
      ->type_name("SIZE");
  run.add_flag("--pure", runtime.is_pure, "No certain objects: every byte has its trial");
  run.add_option("--seed", runtime.seed, "Draw the same numbers in every run")->type_name("N");
  run.add_flag_callback(
      "--children", [&runtime] { runtime.follows_children = true; },
      "Profile the processes that the program starts (default)");
  run.add_flag_callback(
      "--no-children", [&runtime] { runtime.follows_children = false; },
      "Profile the program's first process only");
  run.add_option_function<std::string>(
         "--unwind",
         [&runtime](const std::string& word) { runtime.uses_frame_pointers = word == "fp"; },
         "How to walk stacks: auto (unwind tables) or fp (frame pointers)")
      ->check(CLI::IsMember({"auto", "fp"}))
      ->type_name("");
  run.add_flag("--free-stacks", runtime.records_free_stacks, "Record where samples are freed");
  run.add_flag_callback(
      "--no-mappings", [&runtime] { runtime.records_mappings = false; },
      "Do not record what the program maps past its allocator");
  run.add_flag("--lttng", options.tells_lttng, "Also tell LTTng-UST sessions (docs/events.md)");
}

void add_window_options(CLI::App& run, RunOptions& options) {
  run.add_option_function<std::string>(
         "--delay",
         [&options](const std::string& text) {
           options.window.delay = duration_of(text, "--delay");
           options.runtime.starts_paused = options.window.delay.count() > 0;
         },
         "Begin recording this long after the start (10s, 500ms, 2m);\n"
         "a child that lives for milliseconds only may be missed")
      ->type_name("TIME");
  run.add_option_function<std::string>(
         "--duration",
         [&options](const std::string& text) {
           options.window.duration = duration_of(text, "--duration");
         },
         "Record for this long; the program runs on")
      ->type_name("TIME");
}

void add_observation_options(CLI::App& run, RunOptions& options) {
  run.add_flag("--fragmentation", options.observation.wants_waste,
               "Also find out what the allocator keeps free beside live objects\n"
               "(for table --kind stranded)");
  run.add_flag_callback(
      "--no-observe", [&options] { options.observation.observes = false; },
      "Read nothing about the memory of the processes (for geiger rss)");
}

void add_program_words(CLI::App& run, RunOptions& options) {
  run.add_option_function<std::vector<std::string>>(
         kProgramWord,
         [&options](const std::vector<std::string>& words) {
           for (const auto& word : words) options.program.push_back(word.substr(1));
         },
         "")
      ->required()
      ->group("");
}

// CLI11 does not know about the program's words.
class RunFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return "Usage: geiger run [options] [--] PROGRAM [ARGUMENTS...]\n";
  }
};

}  // namespace

std::string as_program_word(const std::string& word) {
  return std::string(kProgramWord) + "=" + kGuard + word;
}

CLI::App* add_run_options(CLI::App& app, RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Run a program and record where it allocates");
  run->formatter(std::make_shared<RunFormatter>());
  run->footer(
      "\nThe program behaves as if run alone: same input and output, signals, job control,\n"
      "exit code. Traces go to geiger-PROGRAM.PID/ in the current directory.\n"
      "\nExit code: the program's own, or the signal that ended it; 127 program not found,\n"
      "126 not executable, 125 geiger could not be built or started, 2 usage.\n"
      "\nExamples:\n"
      "  geiger run -- sqlite3 my.db 'SELECT count(*) FROM t'\n"
      "  geiger run --interval 64KiB -o build.geiger make\n");
  add_output_options(*run, options);
  add_sampling_options(*run, options);
  add_window_options(*run, options);
  add_observation_options(*run, options);
  add_program_words(*run, options);
  return run;
}

}  // namespace geiger::cli
