#include "cli/run_options.h"

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/sizes.h"
#include "trace/format.h"

namespace geiger::cli {
namespace {

// A leading character keeps CLI11 from reading an empty word as "no value" and
// "[a,b]" as a list.
constexpr char kGuard = ':';
constexpr const char* kProgramWord = "--program-word";

std::function<void(const std::string&)> size_into(Bytes& target) {
  return [&target](const std::string& text) {
    const auto size = parse_size(text);
    if (!size.has_value()) throw CLI::ValidationError(size.reason());
    target = size.value();
  };
}

std::chrono::nanoseconds duration_of(const std::string& text) {
  const auto time = parse_duration(text);
  if (!time.has_value()) throw CLI::ValidationError(time.reason());
  constexpr Nanoseconds kCentury = Nanoseconds{100} * 365 * 24 * 3600 * 1'000'000'000;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(time.value(), kCentury)));
}

void add_output_options(CLI::App& run, RunOptions& options) {
  run.add_option("-o,--output", options.file, "Write exactly one file, children included")
      ->type_name("FILE");
  run.add_flag("-f,--force", options.replaces, "Replace what an earlier run left there");
  run.add_flag("-q,--quiet", options.is_quiet, "Say nothing unless something is wrong");
  run.add_flag("!--no-symbolize", options.symbolizes,
               "Leave names and lines for 'geiger symbolize'");
  run.add_option_function<std::string>("--trace-limit", size_into(options.runtime.capacity),
                                       "Bytes that one trace may take (default 4GiB)")
      ->type_name("SIZE");
}

void add_sampling_options(CLI::App& run, RunOptions& options) {
  RuntimeSettings& runtime = options.runtime;
  run.add_option_function<std::string>(
         "--interval",
         [&runtime](const std::string& text) {
           size_into(runtime.interval)(text);
           if (runtime.interval < 1) throw CLI::ValidationError("'" + text + "' is below 1 byte");
         },
         "Sampling interval: mean bytes between sampled bytes\n"
         "(default 512KiB; 1 records every allocation)")
      ->type_name("SIZE");
  run.add_flag("--pure", runtime.is_pure, "No certain objects: every byte has its trial");
  run.add_option("--seed", runtime.seed, "Draw the same numbers in every run")->type_name("N");
  run.add_flag("--children,!--no-children", runtime.follows_children,
               "Profile the processes that the program starts (default)");
  run.add_option_function<std::string>(
         "--unwind",
         [&runtime](const std::string& word) { runtime.uses_frame_pointers = word == "fp"; },
         "How to walk stacks: auto (unwind tables) or fp (frame pointers)")
      ->check(CLI::IsMember({"auto", "fp"}))
      ->type_name("HOW");
  run.add_flag("--free-stacks", runtime.records_free_stacks, "Record where samples are freed");
}

void add_window_options(CLI::App& run, RunOptions& options) {
  run.add_option_function<std::string>(
         "--delay",
         [&options](const std::string& text) {
           options.window.delay = duration_of(text);
           options.runtime.starts_paused = options.window.delay.count() > 0;
         },
         "Begin recording this long after the start (10s, 500ms, 2m)")
      ->type_name("TIME");
  run.add_option_function<std::string>(
         "--duration",
         [&options](const std::string& text) { options.window.duration = duration_of(text); },
         "Record for this long; the program runs on")
      ->type_name("TIME");
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

void check_capacity(const RunOptions& options) {
  constexpr Bytes kSmallest = kMiB;
  const Bytes capacity = options.runtime.capacity;
  if (capacity < kSmallest || capacity > trace::kMaxCapacity) {
    throw CLI::ValidationError("--trace-limit: must lie between 1MiB and 32GiB");
  }
}

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
      "126 not executable, 125 geiger failed before the program started, 2 usage.\n"
      "\nExamples:\n"
      "  geiger run -- sqlite3 my.db 'SELECT count(*) FROM t'\n"
      "  geiger run --interval 64KiB -o build.geiger make\n");
  add_output_options(*run, options);
  add_sampling_options(*run, options);
  add_window_options(*run, options);
  add_program_words(*run, options);
  run->parse_complete_callback([&options] { check_capacity(options); });
  return run;
}

}  // namespace geiger::cli
