// `geiger live`: a running program, while it runs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/present/text.h"
#include "cli/help/help_formatter.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "cli/options/run_options.h"
#include "cli/options/selection_options.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/commands.h"
#include "live/followed_run.h"
#include "live/program.h"
#include "live/session.h"
#include "live/terminal.h"
#include "query/words.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

using std::chrono::milliseconds;

struct LiveArguments {
  std::string word;
  std::vector<std::string> program;
  std::string interval;  ///< Of a program that is started.
  bool is_json = false;
  query::SelectionOptions selection;  ///< Filters and frames.
  live::SessionOptions session;
};

constexpr milliseconds kShortest{100};
constexpr milliseconds kLongest = std::chrono::hours(1);

base::Outcome<milliseconds> parse_time(const std::string& text) {
  const auto time = GEIGER_TRY(query::parse_duration(text));
  const auto length = std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(time));
  if (length < kShortest || length > kLongest) {
    return base::Failure{"'" + text + "' is not between 100ms and 1h"};
  }
  return length;
}

/// Waits for the first trace of a program that was started.
void await_trace(live::FollowedRun& run, live::LiveProgram& program) {
  constexpr milliseconds kLookAgain{5};
  while (run.follower().is_empty() && !program.has_ended() && !terminal::was_interrupted()) {
    std::this_thread::sleep_for(kLookAgain);
    run.look(0);
  }
}

/// The run at `path`, or the file that 'geiger run -o' packed it into; empty: neither.
std::string what_is_left_of(const std::string& path) {
  constexpr std::string_view kParts = ".parts";
  std::error_code error;
  if (std::filesystem::exists(path, error)) return path;
  if (!path.ends_with(kParts)) return "";
  const std::string packed = path.substr(0, path.size() - kParts.size());
  return std::filesystem::exists(packed, error) ? packed : "";
}

/// What there is to type next.
void say_end(const live::FollowedRun& run, const live::LiveProgram* program, bool has_ended) {
  if (program != nullptr && !program->output().empty()) {
    terminal::complain("its output is in " + program->output());
  }
  if (run.follower().is_empty()) return terminal::complain("nothing was recorded");
  const std::string left = what_is_left_of(run.path());
  if (left.empty()) {
    return terminal::complain(
        fmt::format("{} no longer exists: nothing is left to read", run.path()));
  }
  terminal::complain(has_ended ? "the run has ended" : "it is still running");
  terminal::suggest("geiger summary " + present::as_typed(left));
}

/// What is to be looked at, and the program if it has to be started for that.
struct Watched {
  std::optional<live::LiveProgram> program;
  std::optional<live::FollowedRun> run;
};

base::Outcome<void> open_running(const LiveArguments& options, Watched& subject) {
  auto opened = GEIGER_TRY(live::FollowedRun::open(options.word));
  subject.run.emplace(std::move(opened));
  return {};
}

base::Outcome<void> start_program(const LiveArguments& options, Watched& subject) {
  live::LiveProgram::Orders orders{options.program, {}, !options.is_json};
  if (!options.interval.empty()) orders.options = {"--interval", options.interval};
  auto started = GEIGER_TRY(live::LiveProgram::start(orders));
  subject.program.emplace(std::move(started));
  subject.run.emplace(
      live::FollowedRun::of_started(subject.program->pid(), subject.program->directory()));
  await_trace(*subject.run, *subject.program);
  return {};
}

int look_at(const LiveArguments& options, Watched& subject) {
  const present::Style style = terminal::output_style(options.session.live.table.level);
  live::LiveProgram* const program = subject.program ? &*subject.program : nullptr;
  live::LiveSession session(*subject.run, program, options.session);
  bool is_done = true;
  if (options.is_json) {
    is_done = session.print_lines();
  } else {
    auto terminal = live::LiveTerminal::open(style.has_color, style.has_unicode);
    if (!terminal.has_value()) {
      terminal::complain(terminal.reason());
      is_done = false;
    } else {
      session.show(*terminal.value(), style);
    }
  }
  if (program != nullptr) program->end();
  const int program_code = program == nullptr ? kExitOk : program->finish();
  say_end(*subject.run, program, session.has_ended() || program != nullptr);
  return is_done ? program_code : kExitFailed;
}

base::Outcome<int> live(LiveArguments& options) {
  if (!options.word.empty() && !options.program.empty()) {
    return usage_failure("live: give either a running process or a program to start");
  }
  std::vector<std::string> remarks;
  auto selection = live::LiveSelection::of(options.selection, remarks);
  for (const std::string& remark : remarks) terminal::complain(remark);
  options.session.selection = GEIGER_TRY(std::move(selection).failing_as(base::Fault::kUsage));
  // Before anything is started: without a terminal there is nothing to show it on.
  const auto usable = options.is_json ? base::Outcome<void>() : live::LiveTerminal::check();
  if (!usable.has_value()) {
    return base::Failure{usable.reason() + "; use --json", base::Fault::kRequest};
  }
  terminal::heed_signals();
  Watched subject;
  const bool starts = !options.program.empty();
  const bool is_named = starts || !options.word.empty();
  GEIGER_TRY((starts ? start_program(options, subject) : open_running(options, subject))
                 .failing_as(is_named ? base::Fault::kInput : base::Fault::kRequest));
  return look_at(options, subject);
}

const Choices<profile::GroupBy> kLiveGroups{
    {"function", profile::GroupBy::kFunction}, {"line", profile::GroupBy::kLine},
    {"stack", profile::GroupBy::kStack},       {"thread", profile::GroupBy::kThread},
    {"module", profile::GroupBy::kModule},     {"size", profile::GroupBy::kSize},
    {"type", profile::GroupBy::kType},         {"label", profile::GroupBy::kLabel}};
const Choices<profile::Kind> kLiveKinds{{"live", profile::Kind::kLiveAtEnd},
                                        {"allocated", profile::Kind::kAllocated}};

}  // namespace

void register_live(CLI::App& app, Work& work) {
  auto options = std::make_shared<LiveArguments>();
  CLI::App* verb = app.add_subcommand("live", "Watch a program while it runs");
  verb->add_option("PID", options->word,
                   "A recorded process, its run directory or FILE (default: the only one)")
      ->type_name("");
  add_parsed(*verb, "--every", "TIME", "Time between updates (default 1s)", parse_time,
             [options](milliseconds time) { options->session.every = time; });
  add_parsed(*verb, "--window", "TIME", "Also show growth over this recent time (default 30s)",
             parse_time, [options](milliseconds time) { options->session.recent = time; });
  add_number(*verb, "--updates", "N", options->session.most_updates,
             "Stop after N updates (default: when the program ends)", 1);
  add_choice(*verb, "--by", "GROUP",
             "function (default), line, stack, thread, module, size, type or label", kLiveGroups,
             [options](profile::GroupBy by) { options->session.live.table.by = by; });
  add_choice(*verb, "--kind", "KIND", "live (default) or allocated", kLiveKinds,
             [options](profile::Kind kind) { options->session.live.kind = kind; });
  add_number(*verb, "--top", "N", options->session.live.table.top,
             "Rows of --json (default 30; 0: all)");
  verb->add_option("--interval", options->interval, "Sampling interval of PROGRAM")
      ->type_name("SIZE");
  add_report_options(*verb, options->session.live.table.level, options->is_json);
  add_names_option(*verb);
  add_expression_options(*verb, options->selection);
  add_frame_options(*verb, options->selection.frames);
  add_program_words(*verb, options->program);
  verb->formatter(
      std::make_shared<UsageFormatter>("geiger live [options] [PID | RUN]\n"
                                       "       geiger live [options] -- PROGRAM [ARGUMENTS...]\n"));
  verb->footer(
      "\nReads the trace that the program writes, without slowing the program. Press ?\n"
      "for the keys. --json prints one line per update (docs/guide/json.md). PROGRAM runs in\n"
      "the background as under 'geiger run': its output goes to\n"
      "geiger-PROGRAM.PID.out unless standard output is a file or pipe, and it ends\n"
      "with the view.\n"
      "\nExit code: 0 success (with PROGRAM: its own code), 1 failure, 2 usage error or no\n"
      "terminal.\n"
      "\nExamples:\n"
      "  geiger live $(pidof redis-server)\n"
      "  geiger live --by stack -- ./server --port 8080\n"
      "  geiger live --json --updates 10 4711 | jq .live.bytes.value");
  verb->callback([options, &work] { work = [options] { return live(*options); }; });
}

}  // namespace geiger::cli
