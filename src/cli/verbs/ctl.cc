// `geiger ctl`: starts and stops recordings of running programs, and shows their state.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/text.h"
#include "base/text.h"
#include "cli/help/command_line.h"
#include "cli/options/run_options.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/commands.h"
#include "control/controlled.h"
#include "control/run_watch.h"
#include "foreign/process_root.h"
#include "query/words.h"
#include "run/memory_scans.h"
#include "terminal/terminal.h"
#include "trace/format.h"
#include "trace/share.h"

namespace geiger::present {

using control::ProcessStatus;

static const Fields<ProcessStatus>& fields_of(Of<ProcessStatus> /*type*/) {
  const auto of_trace = [](auto field) {
    return [field](const ProcessStatus& it) { return if_true(!it.trace.empty(), it.*field); };
  };
  const auto of_records = [](auto get) {
    return [get](const ProcessStatus& it) {
      return if_true(it.records.interval != 0, std::invoke(get, it.records));
    };
  };
  static const auto kFields =
      Fields<ProcessStatus>()
          .field("pid", "", &ProcessStatus::pid)
          .field("program", "", &ProcessStatus::program)
          .field("state",
                 "`ended`: its trace was switched off; `reporting`: as dormant, and samples for a "
                 "tracing tool",
                 [](const ProcessStatus& it) { return name_of(it.standing); })
          .one_of(texts_of<control::Standing>([](auto standing) { return name_of(standing); }))
          .field("interval", "bytes, in force or at the start of a recording, if known",
                 [](const ProcessStatus& it) { return if_true(it.interval != 0, it.interval); })
          .field("asked_to_record",
                 "what the program has not noticed yet: true to start, false to stop",
                 &ProcessStatus::pending)
          .field("obstacle", "of a dormant one that cannot be started: why",
                 [](const ProcessStatus& it) { return if_true(!it.obstacle.empty(), it.obstacle); })
          .field("trace", "the path as the program sees it", of_trace(&ProcessStatus::trace))
          .field("trace_bytes", "", of_trace(&ProcessStatus::trace_bytes))
          .field("segment", "", of_trace(&ProcessStatus::segment))
          .field("dropped", "records that the trace lacks", of_trace(&ProcessStatus::dropped))
          .field("samples", "records in the trace; of a single process only",
                 of_records(&control::RecordCounts::samples))
          .field("live_samples", "of these, not freed", of_records(&control::RecordCounts::live));
  return kFields;
}

}  // namespace geiger::present

namespace geiger::cli {
namespace {

using control::ProcessStatus;
using present::Fields;
using present::Of;

using std::chrono::milliseconds;

constexpr double kStyleLevel = 0.95;  // Of a style; nothing here is an estimate.
constexpr Nanoseconds kLongestWait = Nanoseconds{3600} * 1'000'000'000;

struct CtlArguments {
  std::string pid, action, argument;  ///< As typed.
  std::string directory;
  std::string interval;
  std::string wait;
  bool is_json = false;
  bool despite_seccomp = false;
  control::WatchOptions watch;
};

/// What the words and options say, checked.
struct Command {
  std::optional<pid_t> pid;
  std::string action = "status";
  std::string argument;
  Bytes interval = 0;
  std::uint32_t guard = 0;
  std::string directory;
  bool despite_seccomp = false;
  control::WatchOptions watch;
  milliseconds patience = control::kPatience;
};

base::Outcome<pid_t> parse_pid(const std::string& text) {
  const auto pid = base::number_in<pid_t>(text);
  if (pid && *pid > 0) return *pid;
  return base::Failure{
      fmt::format("'{}' is not a process id ('geiger ctl list' shows them)", text)};
}

base::Outcome<Bytes> parse_interval(const std::string& text) {
  auto size = GEIGER_TRY(query::parse_size(text));
  if (size == 0 || size > trace::kMostInterval) {
    return base::Failure{fmt::format("'{}' is not between 1 byte and 1 TiB", text)};
  }
  return size;
}

base::Outcome<milliseconds> parse_patience(const std::string& text) {
  const auto time = GEIGER_TRY(query::parse_duration(text));
  const Nanoseconds wait = std::min(time, kLongestWait);
  return std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(wait));
}

base::Outcome<std::uint32_t> parse_guard_or_off(const std::string& text) {
  if (text == "off") return trace::kGuardOff;
  return parse_guard(text);
}

bool takes_argument(const std::string& action) {
  return action == "interval" || action == "mark" || action == "guard";
}

base::Outcome<void> check_argument(const Command& command) {
  const bool has_argument = !command.argument.empty();
  if (has_argument && !takes_argument(command.action)) {
    return base::Failure{fmt::format("unexpected argument '{}'", command.argument)};
  }
  if (!has_argument && takes_argument(command.action)) {
    return base::Failure{fmt::format("'{}' needs an argument", command.action)};
  }
  if (command.action == "mark" && command.argument.size() > control::kMostMarkBytes) {
    return base::Failure{fmt::format("a mark must have 1 to {} bytes", control::kMostMarkBytes)};
  }
  return {};
}

base::Outcome<std::string> absolute(const std::string& path) {
  char* real = realpath(path.c_str(), nullptr);
  if (real == nullptr) return base::Failure{fmt::format("{}: {}", path, std::strerror(errno))};
  const std::string resolved = real;
  std::free(real);
  return resolved;
}

/// Reads `text` into `value`, unless it is empty: not given.
template <typename T, typename Value>
base::Outcome<void> read_given(const std::string& text,
                               base::Outcome<T> (*parse)(const std::string&), Value& value) {
  if (text.empty()) return {};
  value = GEIGER_TRY(parse(text));
  return {};
}

base::Outcome<Command> command_of(const CtlArguments& options) {
  Command command;
  const bool is_list = options.pid == "list";
  if (is_list && !options.action.empty()) {
    return base::Failure{
        fmt::format("'list' takes no action: '{}' needs a process id", options.action)};
  }
  if (!options.action.empty()) command.action = options.action;
  command.argument = options.argument;
  const bool sets_interval = command.action == "interval";
  GEIGER_TRY(read_given(is_list ? "" : options.pid, parse_pid, command.pid));
  GEIGER_TRY(check_argument(command));
  GEIGER_TRY(read_given(sets_interval ? command.argument : "", parse_interval, command.interval));
  GEIGER_TRY(read_given(command.action == "guard" ? command.argument : "", parse_guard_or_off,
                        command.guard));
  command.watch = options.watch;
  if (options.interval == "auto") {
    command.interval = trace::kFirstInterval;
    constexpr double kShare =
        static_cast<double>(trace::kUsualShare) / static_cast<double>(trace::kPerMillion);
    if (!command.watch.budget) command.watch.budget = control::Budget{.share = kShare};
  } else {
    GEIGER_TRY(read_given(options.interval, parse_interval, command.interval));
  }
  GEIGER_TRY(read_given(options.wait, parse_patience, command.patience));
  GEIGER_TRY(read_given(options.directory, absolute, command.directory));
  command.despite_seccomp = options.despite_seccomp;
  return command;
}

/// What is printed as JSON.
struct CtlDocument {
  std::vector<ProcessStatus> processes;
};

const Fields<CtlDocument>& fields_of(Of<CtlDocument> /*type*/) {
  static const auto kFields = Fields<CtlDocument>().field("processes", "", &CtlDocument::processes);
  return kFields;
}

int print_json(std::vector<ProcessStatus> processes) {
  const std::string json = present::document("ctl", CtlDocument{std::move(processes)});
  return terminal::print_data(json) ? kExitOk : kExitFailed;
}

std::string interval_text(const ProcessStatus& status) {
  return status.interval == 0 ? "" : present::exact_bytes(status.interval);
}

std::string as_text(const ProcessStatus& status) {
  std::string text = fmt::format("{} (pid {}): {}\n", present::printable(status.program),
                                 status.pid, control::name_of(status.standing));
  const auto line = [&text](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<10} {}\n", name, value);
  };
  if (status.pending) line("asked", *status.pending ? "to record" : "to stop");
  line("interval", interval_text(status));
  line("start", status.obstacle);
  if (status.trace.empty()) return text;
  line("trace", fmt::format("{} ({})", present::printable(status.trace),
                            present::exact_bytes(status.trace_bytes)));
  if (status.segment != 0) line("segment", present::exact_count(status.segment));
  line("samples", fmt::format("{}, {} of them live", present::exact_count(status.records.samples),
                              present::exact_count(status.records.live())));
  line("dropped", status.dropped == 0 ? "nothing" : present::exact_count(status.dropped));
  return text;
}

std::string as_table(const std::vector<ProcessStatus>& processes, const present::Style& style) {
  using present::Align;
  present::Grid grid({{"pid"},
                      {"state", Align::kLeft},
                      {"interval"},
                      {"program", Align::kLeft},
                      {"trace", Align::kLeft}});
  for (const auto& status : processes) {
    const std::string state(control::name_of(status.standing));
    grid.add({fmt::format("{}", status.pid),
              state + (status.obstacle.empty() ? "" : ", cannot start"), interval_text(status),
              present::printable(status.program), present::printable(status.trace)});
  }
  return grid.text(style);
}

int list(bool is_json) {
  control::remove_stale_rendezvous();
  const auto processes = control::controlled_processes();
  if (is_json) return print_json(processes);
  if (processes.empty()) {
    terminal::complain("none of your processes has geiger loaded");
    return kExitOk;
  }
  const present::Style style = terminal::output_style(kStyleLevel);
  return terminal::print_report(as_table(processes, style), style) ? kExitOk : kExitFailed;
}

int print_status(const control::Controlled& controlled, bool is_json) {
  const ProcessStatus status = controlled.status(true);
  if (is_json) return print_json({status});
  const present::Style style = terminal::output_style(kStyleLevel);
  return terminal::print_report(as_text(status), style) ? kExitOk : kExitFailed;
}

base::Outcome<std::string> act(control::Controlled& controlled, const Command& command) {
  if (command.action == "start") {
    return controlled.start({.records = true,
                             .interval = command.interval,
                             .directory = command.directory,
                             .despite_seccomp = command.despite_seccomp},
                            command.patience);
  }
  if (command.action == "stop") return controlled.stop(command.patience);
  if (command.action == "interval") {
    return controlled.set_interval(command.interval, command.patience);
  }
  if (command.action == "guard") return controlled.set_guard(command.guard, command.patience);
  if (command.action == "mark") return controlled.mark(command.argument);
  return controlled.begin_segment(command.patience);
}

/// Watches until the process or its recording ends; ^C ends the watch alone.
base::Outcome<int> watch(control::Controlled controlled, control::WatchOptions options) {
  if (options.is_empty()) {
    return usage_failure("ctl: 'watch' needs --mark-on, --snapshot-on or --budget");
  }
  const pid_t pid = controlled.target().pid();
  options.interval = std::max<Bytes>(controlled.status(true).interval, 1);
  // Others may name what leads to its traces: it can only delete what the process itself can.
  const auto root =
      std::make_shared<std::optional<foreign::ProcessRoot>>(foreign::ProcessRoot::open(pid));
  options.remove = [root](const std::string& path) {
    if (*root) (*root)->remove(path);
  };
  control::RunWatch watch(std::move(options));
  const control::LiveTrace* trace = controlled.trace();
  if (trace == nullptr || !trace->is_open()) {
    return base::Failure{controlled.shown() + " is not recording"};
  }
  while (trace != nullptr && trace->is_open()) {
    watch.follow({trace->path(), pid}, trace->again());
    std::this_thread::sleep_for(watch.round());
    auto again = control::Controlled::open(pid);
    if (!again.has_value()) break;
    controlled = std::move(again.value());
    trace = controlled.trace();
  }
  return kExitOk;
}

base::Outcome<int> find_holders(const control::Controlled& controlled) {
  const control::LiveTrace* trace = controlled.trace();
  if (trace == nullptr || !trace->is_open()) {
    return base::Failure{controlled.shown() + " is not recording"};
  }
  auto own = GEIGER_TRY(trace->again());
  const auto told = GEIGER_TRY(run::store_holders(controlled.target().pid(), std::move(own)));
  terminal::complain(told);
  return kExitOk;
}

base::Outcome<int> control(const CtlArguments& options) {
  const Command command = GEIGER_TRY(command_of(options).failing_as(base::Fault::kUsage, "ctl: "));
  if (!command.pid) return list(options.is_json);
  auto controlled = GEIGER_TRY(control::Controlled::open_started(*command.pid));
  if (command.action == "status") return print_status(controlled, options.is_json);
  if (command.action == "watch") return watch(std::move(controlled), command.watch);
  if (command.action == "holders") return find_holders(controlled);
  const auto told = GEIGER_TRY(act(controlled, command));
  terminal::complain(told);
  if (command.action != "start" || command.watch.is_empty()) return kExitOk;
  return watch(GEIGER_TRY(control::Controlled::open(*command.pid)), command.watch);
}

}  // namespace

present::DocumentSchema ctl_schema() { return present::document_schema<CtlDocument>("ctl"); }

void register_ctl(CLI::App& app, Work& work) {
  auto options = std::make_shared<CtlArguments>();
  CLI::App* verb = app.add_subcommand("ctl", "Start, stop and mark recordings of running programs");
  verb->add_option("PID", options->pid, "Process id; 'list' or nothing: list all processes")
      ->type_name("");
  verb->add_option("ACTION", options->action,
                   "start, stop, interval SIZE, guard SHARE, mark NAME, segment, holders,\n"
                   "watch or status (default); of guard mode, 'guard off' ends it for new objects")
      ->check(one_of(
          {"start", "stop", "interval", "guard", "mark", "segment", "holders", "watch", "status"}))
      ->type_name("");
  verb->add_option("ARGUMENT", options->argument, "Argument of interval, guard and mark")
      ->type_name("");
  verb->add_option("-d,--directory", options->directory,
                   "start: directory of the trace (default: GEIGER_DIR of the program,\n"
                   "else geiger-PROGRAM.PID/ here)")
      ->type_name("DIR");
  verb->add_option("--interval", options->interval,
                   "start: sampling interval, or auto, the smallest from 16KiB up that\n"
                   "costs at most 1 % of CPU time (as --budget)")
      ->type_name("SIZE");
  verb->add_option("--wait", options->wait,
                   "How long to wait for the program to respond (default 2s)")
      ->type_name("TIME");
  verb->add_flag("--despite-seccomp", options->despite_seccomp,
                 "start: even if it is not known whether the program may make the system\n"
                 "calls of the runtime, as for 'geiger attach'");
  add_watch_options(*verb, options->watch);
  verb->add_flag("--json", options->is_json, "status: print JSON (docs/guide/json.md)");
  add_terminal_options(*verb);
  verb->footer(
      "\nAfter start, the options from --mark-on to --budget have it go on as watch: until\n"
      "the recording or the program ends, or ^C ends the watch.\n"
      "\nControls programs under 'geiger run', and dormant ones that have the library\n"
      "loaded (geiger run --dormant, LD_PRELOAD, geiger preload enable:\n"
      "docs/guide/production.md). Without PID, lists all of them. Uses neither signals nor\n"
      "ptrace: a program responds once it has allocated one sampling interval.\n"
      "\nExamples:\n"
      "  geiger ctl\n"
      "  geiger ctl 4711 start --interval 64KiB\n"
      "  geiger ctl 4711 mark 'cache warm'\n"
      "  geiger ctl 4711 stop");
  verb->callback([options, &work] { work = [options] { return control(*options); }; });
}

}  // namespace geiger::cli
