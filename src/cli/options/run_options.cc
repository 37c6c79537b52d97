#include "cli/options/run_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>

#include "analysis/present/format.h"
#include "base/text.h"
#include "cli/help/help_formatter.h"
#include "cli/options/ending.h"
#include "cli/options/parsed_option.h"
#include "query/words.h"
#include "trace/format.h"
#include "trace/share.h"
#include "vocabulary/vocabulary.h"

namespace geiger::cli {
namespace {

// A leading character keeps CLI11 from reading an empty word as "no value" and
// "[a,b]" as a list.
constexpr char kGuard = ':';
constexpr const char* kProgramWord = "--program-word";

base::Outcome<Bytes> parse_size_within(const std::string& text, Bytes least, Bytes most) {
  const Bytes size = GEIGER_TRY(query::parse_size(text));
  if (size >= least && size <= most) return size;
  return base::Failure{fmt::format("'{}' is not between {} and {}", text,
                                   present::exact_bytes(least), present::exact_bytes(most))};
}

std::function<void(const std::string&)> size_into(Bytes& target, const char* option, Bytes least,
                                                  Bytes most) {
  return [&target, option, least, most](const std::string& text) {
    target = value_or_throw(option, parse_size_within(text, least, most));
  };
}

std::chrono::nanoseconds at_most_a_century(Nanoseconds time) {
  constexpr Nanoseconds kCentury = Nanoseconds{100} * 365 * 24 * 3600 * 1'000'000'000;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(time, kCentury)));
}

void read_interval(const std::string& text, run::RunOptions& options) {
  const bool is_auto = text == "auto";
  if (!is_auto) size_into(options.runtime.interval, "--interval", 1, trace::kMostInterval)(text);
  options.interval = is_auto ? run::IntervalWish::kAuto : run::IntervalWish::kSize;
}

}  // namespace

base::Outcome<std::uint32_t> parse_guard(const std::string& text) {
  constexpr std::string_view kExact = ",exact";
  std::string_view share = text;
  const bool is_exact = share.ends_with(kExact);
  if (is_exact) share.remove_suffix(kExact.size());
  if (share.starts_with("1/")) share.remove_prefix(2);
  const auto rate = base::number_in<std::uint32_t>(share);
  if (rate && *rate >= 1 && *rate <= trace::kMostGuardRate && (*rate == 1 || text[1] == '/')) {
    return *rate | (is_exact ? trace::kGuardExact : 0);
  }
  return base::Failure{
      fmt::format("'{}' is not a share of the samples (1, or 1/2 to 1/{}; then perhaps ',exact')",
                  text, trace::kMostGuardRate)};
}

base::Outcome<void> settle_interval(run::RunOptions& options, run::IntervalWish usual) {
  run::RuntimeSettings& runtime = options.runtime;
  if (options.interval == run::IntervalWish::kNone) {
    options.interval = runtime.is_dormant || runtime.seed ? run::IntervalWish::kSize : usual;
  }
  if (options.interval == run::IntervalWish::kAuto) {
    if (runtime.is_dormant) {
      return usage_failure("--interval: a dormant program needs a size, not auto");
    }
    runtime.interval = trace::kFirstInterval;
    const auto budget = options.watch.budget.value_or(
        control::Budget{.share = static_cast<double>(trace::kUsualShare) /
                                 static_cast<double>(trace::kPerMillion)});
    runtime.share = budget.share;
    // A rate is kept from outside.
    if (budget.share > 0) options.watch.budget.reset();
  }
  options.watch.interval = runtime.interval;
  return {};
}

void add_output_options(CLI::App& run, run::RunOptions& options) {
  run.add_option("-o,--output", options.file, "Write a single file, child processes included")
      ->type_name("FILE");
  run.add_flag("-f,--force", options.replaces, "Replace the output of an earlier run");
  run.add_flag("-q,--quiet", options.is_quiet, "Print only warnings and errors");
  run.add_flag_callback(
      "--no-symbolize", [&options] { options.symbolizes = false; },
      "Do not look up names and lines ('geiger symbolize' does)");
  run.add_option_function<std::string>(
         "--trace-limit",
         size_into(options.runtime.capacity, "--trace-limit", kMiB, trace::kMaxCapacity),
         "Maximum size of one trace (default 4GiB)")
      ->type_name("SIZE");
}

void add_guard_option(CLI::App& run, run::RuntimeSettings& runtime) {
  const std::string help =
      "Detect use after free, overflows and wrong frees in a share of\n"
      "the samples: --guard=1/16 (default) one in 16, --guard=1 all;\n"
      "--guard=1/16,exact: also reads of the bytes right behind an object;\n"
      "the program ends at the first wrong access (docs/guide/guard.md)";
  run.add_flag("--guard{1/16}", help)->check([&runtime](const std::string& text) -> std::string {
    const auto setting = parse_guard(text);
    if (!setting.has_value()) return setting.reason();
    runtime.guard = setting.value();
    return {};
  });
}

base::Outcome<std::uint64_t> parse_frames(const std::string& text) {
  const auto frames = base::number_in<std::uint64_t>(text);
  if (frames && *frames >= vocabulary::kUsualFrames && *frames <= vocabulary::kMostFrames) {
    return *frames;
  }
  return base::Failure{fmt::format("'{}' is not a number of frames ({} to {})", text,
                                   vocabulary::kUsualFrames, vocabulary::kMostFrames)};
}

void add_sampling_options(CLI::App& run, run::RunOptions& options) {
  run::RuntimeSettings& runtime = options.runtime;
  run.add_option_function<std::string>(
         "--interval", [&options](const std::string& text) { read_interval(text, options); },
         "Sampling interval: mean bytes between sampled bytes, or auto,\n"
         "the smallest from 8KiB up that costs at most 1 % of CPU time\n"
         "(default auto; 512KiB for attach, --dormant and --seed);\n"
         "1 records every allocation")
      ->type_name("SIZE");
  run.add_flag("--pure", runtime.is_pure,
               "Sample large objects too, instead of recording each one");
  add_number(run, "--seed", "N", runtime.seed, "Seed of the random numbers, to repeat a run");
  run.add_flag_callback(
      "--children", [&runtime] { runtime.follows_children = true; },
      "Profile the processes that the program starts (default)");
  run.add_flag_callback(
      "--no-children", [&runtime] { runtime.follows_children = false; },
      "Profile the program's first process only");
  add_choice(run, "--unwind", "HOW",
             "How to walk stacks: auto (unwind tables) or fp (frame pointers)",
             Choices<bool>{{"auto", false}, {"fp", true}},
             [&runtime](bool uses) { runtime.uses_frame_pointers = uses; });
  add_parsed(run, "--max-frames", "N",
             "Frames of a stack to follow (default 255, and 1023 with Python's),\n"
             "up to 262144: recursion that does not fit is folded",
             parse_frames, [&runtime](std::uint64_t frames) { runtime.frames = frames; });
  using Python = run::RuntimeSettings::Python;
  add_choice(
      run, "--python", "HOW",
      "What to record of CPython: all (frames and small\nobjects), stacks (frames only) or off",
      Choices<Python>{{"all", Python::kAll}, {"stacks", Python::kStacks}, {"off", Python::kOff}},
      [&runtime](Python python) { runtime.python = python; });
  run.add_flag("--free-stacks", runtime.records_free_stacks, "Record where samples are freed");
  run.add_flag_callback(
      "--no-mappings", [&runtime] { runtime.records_mappings = false; },
      "Do not record the program's own mmap calls");
}

void add_duration_option(CLI::App& verb, run::RunOptions& options, const char* help) {
  verb.add_option_function<std::string>(
          "--duration",
          [&options](const std::string& text) {
            options.window.duration = at_most_a_century(
                value_or_throw("--duration", query::parse_positive_duration(text)));
          },
          help)
      ->type_name("TIME");
}

namespace {

base::Outcome<std::uint64_t> parse_kept(const std::string& text) {
  constexpr std::uint64_t kMostKept = 64;
  const bool is_number = !text.empty() && text.size() <= 2 &&
                         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const std::uint64_t kept = is_number ? std::stoul(text) : 0;
  if (kept >= 1 && kept <= kMostKept) return kept;
  return base::Failure{
      fmt::format("'{}' is not a number of traces to keep (1 to {})", text, kMostKept)};
}

// "64MiB" or "64MiB,8".
void read_segments(const std::string& text, run::RuntimeSettings& runtime) {
  constexpr const char* kOption = "--segments";
  const std::size_t comma = text.find(',');
  size_into(runtime.segment, kOption, kMiB, trace::kMaxCapacity / 2)(text.substr(0, comma));
  if (comma == std::string::npos) return;
  runtime.keep = value_or_throw(kOption, parse_kept(text.substr(comma + 1)));
}

}  // namespace

void add_bounds(CLI::App& run, run::RunOptions& options) {
  run::RuntimeSettings& runtime = options.runtime;
  CLI::Option* segments =
      run.add_option_function<std::string>(
             "--segments", [&runtime](const std::string& text) { read_segments(text, runtime); },
             "Rotate: start a new trace file after SIZE bytes, each readable\n"
             "on its own, and keep the last N (docs/guide/long-runs.md)")
          ->type_name("SIZE[,N]");
  run.add_flag("--aggregate", runtime.aggregates,
               "Store counts of equal samples instead of every sample, for runs\n"
               "of weeks; no peak, no lifetimes, no time windows")
      ->excludes(segments);
  add_number(run, "--live-samples", "N", runtime.live,
             "Maximum of live samples to track (default 4194304); beyond it,\n"
             "every second one is no longer tracked, and reports allow for it",
             1024, std::uint64_t{1} << 32);
}

namespace {

void add_window_options(CLI::App& run, run::RunOptions& options) {
  run.add_option_function<std::string>(
         "--delay",
         [&options](const std::string& text) {
           options.window.delay =
               at_most_a_century(value_or_throw("--delay", query::parse_duration(text)));
           options.runtime.starts_paused = options.window.delay.count() > 0;
         },
         "Start recording after this time (10s, 500ms, 2m); child\n"
         "processes that live for only milliseconds may be missed")
      ->type_name("TIME");
  add_duration_option(run, options, "Record for this long; the program then continues");
}

void add_observation_options(CLI::App& run, run::RunOptions& options) {
  run.add_flag("--fragmentation", options.observation.wants_waste,
               "Also record free memory that live objects keep from being\n"
               "returned to the system (for table --kind stranded)");
  CLI::Option* content = add_content_option(run, options);
  run.add_flag_callback(
         "--no-observe", [&options] { options.observation.observes = false; },
         "Do not observe the memory of the processes (geiger rss needs it)")
      ->excludes(content);
}

std::function<void(const std::vector<std::string>&)> conditions_into(
    std::vector<control::Condition>& conditions, const char* option) {
  return [&conditions, option](const std::vector<std::string>& texts) {
    for (const auto& text : texts) {
      conditions.push_back(value_or_throw(option, control::parse_condition(text)));
    }
  };
}

void add_control_options(CLI::App& run, run::RunOptions& options) {
  run.add_flag("--dormant", options.runtime.is_dormant,
               "Record nothing until 'geiger ctl PID start' (docs/guide/production.md)");
  add_watch_options(run, options.watch);
  add_holders_option(run, options.watch, "peak");
}

}  // namespace

CLI::Option* add_content_option(CLI::App& verb, run::RunOptions& options) {
  return verb.add_flag("--content", options.observation.wants_content,
                       "Also read what live objects contain: zero bytes, equal objects; only\n"
                       "counts are stored (docs/guide/content.md)");
}

void add_holders_option(CLI::App& verb, control::WatchOptions& watch, const std::string& usual) {
  const std::string help =
      "Find what holds live memory, from outside, at rss>2GiB, every=10m\n"
      "and so on, or at each new peak: --holders" +
      std::string(usual == "peak"
                      ? " (=peak); or =exit,\nfor which each process waits in its exit, at most 10s"
                      : "=peak; default: at the end") +
      "; the last\nanswer is stored (docs/guide/holders.md)";
  verb.add_flag("--holders{" + usual + "}", help)
      ->check([&watch, usual](const std::string& text) -> std::string {
        const std::string last = usual == "peak" ? "exit" : "end";
        if (text == last) {
          (text == "exit" ? watch.holders_at_exit : watch.holders_at_end) = true;
          return {};
        }
        auto condition = control::parse_condition(text);
        if (!condition.has_value()) return condition.reason() + ", or " + last;
        watch.holders_on = {condition.release()};
        return {};
      });
}

void add_watch_options(CLI::App& verb, control::WatchOptions& watch) {
  const auto add = [&](const char* name, std::vector<control::Condition>& conditions,
                       const char* help) {
    verb.add_option_function<std::vector<std::string>>(name, conditions_into(conditions, name),
                                                       help)
        ->type_name("WHEN")
        ->expected(1)
        ->take_all()
        ->allow_extra_args(false);
  };
  add("--mark-on", watch.mark_on,
      "Set a mark at rss>2GiB, rss+=256MiB (each step), cgroup>80%,\n"
      "psi>10% (waiting for memory) or every=10m; may be repeated");
  add("--snapshot-on", watch.snapshot_on,
      "Like --mark-on; also start a new trace file, readable on its own");
  add_number(verb, "--keep", "N", watch.keep,
             "Keep only the N snapshots of each process with the largest RSS\n"
             "(default 0: all); other trace files are not deleted");
  add_parsed(verb, "--budget", "LIMIT",
             "Raise the interval if recording costs more than 0.5% of CPU\n"
             "time, or takes more than 2000/s samples",
             control::parse_overhead, [&watch](control::Budget budget) { watch.budget = budget; });
}

CLI::Option* add_program_words(CLI::App& verb, std::vector<std::string>& program) {
  return verb
      .add_option_function<std::vector<std::string>>(
          kProgramWord,
          [&program](const std::vector<std::string>& words) {
            for (const auto& word : words) program.push_back(word.substr(1));
          },
          "")
      ->group("");
}

std::string as_program_word(const std::string& word) {
  return std::string(kProgramWord) + "=" + kGuard + word;
}

CLI::App* add_run_options(CLI::App& app, run::RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Run a program and record where it allocates");
  run->formatter(
      std::make_shared<UsageFormatter>("geiger run [options] [--] PROGRAM [ARGUMENTS...]\n"));
  run->footer(
      "\nThe program behaves as it does without geiger: same input and output, signals,\n"
      "job control and exit code. Traces go to geiger-PROGRAM.PID/ in the current\n"
      "directory.\n"
      "\nExit code: the program's own, or the signal that ended it; 127 program not\n"
      "found, 126 not executable, 125 geiger could not be built or started, 2 usage\n"
      "error.\n"
      "\nExamples:\n"
      "  geiger run -- sqlite3 my.db 'SELECT count(*) FROM t'\n"
      "  geiger run --interval 64KiB -o build.geiger make\n");
  add_output_options(*run, options);
  add_sampling_options(*run, options);
  add_guard_option(*run, options.runtime);
  add_bounds(*run, options);
  run->add_flag("--node", options.names_node,
                "Name the functions of node's scripts (docs/guide/node-and-java.md)");
  run->add_flag("--java", options.names_java,
                "Name the methods that the JVM compiles; PROGRAM is java");
  run->add_flag("--lttng", options.enables_lttng,
                "Also send events to LTTng-UST sessions (docs/guide/events.md)");
  run->add_option("--otlp", options.receiver,
                  "Send the run to a receiver of OTLP's profiles at the end, as 'geiger push'\n"
                  "does: otlp+https://HOST, or otlp:// (docs/guide/otlp.md)")
      ->type_name("URL");
  run->add_option("--malloc", options.allocator,
                  "Use another allocator in the program and its children:\n"
                  "mimalloc, jemalloc or tcmalloc (if installed), geiger (its own),\n"
                  "or the path of a library; see geiger compare-malloc")
      ->type_name("NAME|PATH")
      ->check([](const std::string& name) -> std::string {
        return name.empty() ? "no allocator given" : "";
      });
  add_window_options(*run, options);
  add_observation_options(*run, options);
  add_control_options(*run, options);
  add_program_words(*run, options.program)->required();
  return run;
}

}  // namespace geiger::cli
