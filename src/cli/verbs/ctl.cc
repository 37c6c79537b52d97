// `geiger ctl`: starts and stops recordings of running programs, and shows their state.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/json.h"
#include "analysis/present/text.h"
#include "cli/help/choice.h"
#include "cli/options/run_options.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/commands.h"
#include "control/controlled.h"
#include "control/run_watch.h"
#include "query/sizes.h"
#include "terminal/terminal.h"
#include "trace/share.h"

namespace geiger::cli {
namespace {

using std::chrono::milliseconds;

constexpr double kLevel = 0.95;  // Of a style; nothing here is an estimate.
constexpr Nanoseconds kLongestWait = Nanoseconds{3600} * 1'000'000'000;

struct CtlArguments {
  std::string pid, action, argument;  ///< As typed.
  std::string directory;
  std::string interval;
  std::string wait;
  bool is_json = false;
  control::WatchOptions watch;
};

/// What the words and options say, checked.
struct Command {
  std::optional<pid_t> pid;
  std::string action = "status";
  std::string argument;
  Bytes interval = 0;
  std::string directory;
  milliseconds patience = control::kPatience;
};

[[noreturn]] void refuse_ctl(const std::string& sentence) { throw CLI::ValidationError(sentence); }

pid_t pid_of(const std::string& text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc{} || end != text.data() + text.size() || pid <= 0) {
    refuse_ctl(fmt::format("ctl: '{}' is not a process id ('geiger ctl list' shows them)", text));
  }
  return pid;
}

Bytes interval_of(const std::string& text) {
  const auto size = query::parse_size(text);
  if (!size.has_value()) refuse_ctl("ctl: " + size.reason());
  if (size.value() == 0 || size.value() > trace::kMostInterval) {
    refuse_ctl(fmt::format("ctl: '{}' is not between 1 byte and 1 TiB", text));
  }
  return size.value();
}

milliseconds patience_of(const std::string& text) {
  const auto time = query::parse_duration(text);
  if (!time.has_value()) refuse_ctl("ctl: " + time.reason());
  const Nanoseconds wait = std::min(time.value(), kLongestWait);
  return std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(wait));
}

bool takes_argument(const std::string& action) { return action == "interval" || action == "mark"; }

void check_argument(Command& command) {
  if (command.action == "interval") command.interval = interval_of(command.argument);
  const bool is_bad_mark =
      command.action == "mark" &&
      (command.argument.empty() || command.argument.size() > control::kMostMarkBytes);
  if (is_bad_mark)
    refuse_ctl(fmt::format("ctl: a mark must have 1 to {} bytes", control::kMostMarkBytes));
}

std::string absolute(const std::string& path) {
  if (path.empty()) return path;
  char* real = realpath(path.c_str(), nullptr);
  if (real == nullptr) refuse_ctl(fmt::format("ctl: {}: {}", path, std::strerror(errno)));
  const std::string resolved = real;
  std::free(real);
  return resolved;
}

Command command_of(const CtlArguments& options) {
  Command command;
  const bool is_list = options.pid == "list";
  if (is_list && !options.action.empty()) {
    refuse_ctl(fmt::format("ctl: 'list' takes no action: '{}' needs a process id", options.action));
  }
  if (!options.pid.empty() && !is_list) command.pid = pid_of(options.pid);
  if (!options.action.empty()) command.action = options.action;
  command.argument = options.argument;
  const bool has_argument = !command.argument.empty();
  if (has_argument && !takes_argument(command.action)) {
    refuse_ctl(fmt::format("ctl: unexpected argument '{}'", command.argument));
  }
  if (!has_argument && takes_argument(command.action)) {
    refuse_ctl(fmt::format("ctl: '{}' needs an argument", command.action));
  }
  check_argument(command);
  if (!options.interval.empty()) command.interval = interval_of(options.interval);
  if (!options.wait.empty()) command.patience = patience_of(options.wait);
  command.directory = absolute(options.directory);
  return command;
}

void write_status(present::JsonWriter& json, const control::ProcessStatus& status) {
  json.begin_object().field("pid", status.pid).field("program", status.program);
  json.field("state", std::string(control::name_of(status.standing)));
  if (status.interval != 0) json.field("interval", status.interval);
  if (status.pending) json.field("asked_to_record", *status.pending);
  if (!status.trace.empty()) {
    json.field("trace", status.trace).field("trace_bytes", status.trace_bytes);
    json.field("segment", status.segment).field("dropped", status.dropped);
  }
  if (status.records.interval != 0) {
    json.field("samples", status.records.samples).field("live_samples", status.records.live());
  }
  json.end_object();
}

std::string interval_text(const control::ProcessStatus& status) {
  return status.interval == 0 ? "" : present::exact_bytes(status.interval);
}

std::string as_text(const control::ProcessStatus& status) {
  std::string text = fmt::format("{} (pid {}): {}\n", present::printable(status.program),
                                 status.pid, control::name_of(status.standing));
  const auto line = [&text](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<10} {}\n", name, value);
  };
  if (status.pending) line("asked", *status.pending ? "to record" : "to stop");
  line("interval", interval_text(status));
  if (status.trace.empty()) return text;
  line("trace", fmt::format("{} ({})", present::printable(status.trace),
                            present::exact_bytes(status.trace_bytes)));
  if (status.segment != 0) line("segment", present::exact_count(status.segment));
  line("samples", fmt::format("{}, {} of them live", present::exact_count(status.records.samples),
                              present::exact_count(status.records.live())));
  line("dropped", status.dropped == 0 ? "nothing" : present::exact_count(status.dropped));
  return text;
}

std::string as_table(const std::vector<control::ProcessStatus>& processes,
                     const present::Style& style) {
  using present::Align;
  present::Grid grid({{"pid"},
                      {"state", Align::kLeft},
                      {"interval"},
                      {"program", Align::kLeft},
                      {"trace", Align::kLeft}});
  for (const auto& status : processes) {
    grid.add({fmt::format("{}", status.pid), std::string(control::name_of(status.standing)),
              interval_text(status), present::printable(status.program),
              present::printable(status.trace)});
  }
  return grid.text(style);
}

int list(bool is_json) {
  control::remove_stale_rendezvous();
  const auto processes = control::controlled_processes();
  if (is_json) {
    present::JsonWriter json("ctl");
    json.array("processes", processes, [&](const auto& status) { write_status(json, status); });
    json.end_object();
    return terminal::print_data(json.take()) ? kExitOk : kExitFailed;
  }
  if (processes.empty()) {
    terminal::complain("none of your processes has geiger loaded");
    return kExitOk;
  }
  const present::Style style = terminal::output_style(kLevel);
  return terminal::print_report(as_table(processes, style), style) ? kExitOk : kExitFailed;
}

int print_status(const control::Controlled& controlled, bool is_json) {
  const control::ProcessStatus status = controlled.status(true);
  if (!is_json) {
    const present::Style style = terminal::output_style(kLevel);
    return terminal::print_report(as_text(status), style) ? kExitOk : kExitFailed;
  }
  present::JsonWriter json("ctl");
  json.key("processes").begin_array();
  write_status(json, status);
  json.end_array().end_object();
  return terminal::print_data(json.take()) ? kExitOk : kExitFailed;
}

base::Outcome<std::string> act(control::Controlled& controlled, const Command& command) {
  if (command.action == "start") {
    return controlled.start({true, command.interval, command.directory}, command.patience);
  }
  if (command.action == "stop") return controlled.stop(command.patience);
  if (command.action == "interval") {
    return controlled.set_interval(command.interval, command.patience);
  }
  if (command.action == "mark") return controlled.mark(command.argument, command.patience);
  return controlled.begin_segment(command.patience);
}

/// Watches until the process or its recording ends; ^C ends the watch alone.
int watch(control::Controlled controlled, control::WatchOptions options) {
  if (options.is_empty()) refuse_ctl("ctl: 'watch' needs --mark-on, --snapshot-on or --budget");
  const pid_t pid = controlled.target().facts().pid;
  options.interval = std::max<Bytes>(controlled.status(true).interval, 1);
  control::RunWatch watch(std::move(options));
  const control::LiveTrace* trace = controlled.trace();
  if (trace == nullptr || !trace->is_open()) {
    terminal::complain(controlled.shown() + " is not recording");
    return kExitFailed;
  }
  while (trace != nullptr && trace->is_open()) {
    watch.follow({{fmt::format("/proc/{}/root{}", pid, trace->path()), pid}});
    std::this_thread::sleep_for(watch.round());
    auto again = control::Controlled::open(pid);
    if (!again.has_value()) break;
    controlled = std::move(again.value());
    trace = controlled.trace();
  }
  return kExitOk;
}

int control(const CtlArguments& options) {
  const Command command = command_of(options);
  if (!command.pid) return list(options.is_json);
  auto controlled = control::Controlled::open_started(*command.pid);
  if (!controlled.has_value()) {
    terminal::complain(controlled.reason());
    return kExitFailed;
  }
  if (command.action == "status") return print_status(controlled.value(), options.is_json);
  if (command.action == "watch") return watch(std::move(controlled.value()), options.watch);
  const auto told = act(controlled.value(), command);
  terminal::complain(told.has_value() ? told.value() : told.reason());
  return told.has_value() ? kExitOk : kExitFailed;
}

}  // namespace

void register_ctl(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CtlArguments>();
  CLI::App* verb = app.add_subcommand("ctl", "Start, stop and mark recordings of running programs");
  verb->add_option("PID", options->pid, "Process id; 'list' or nothing: list all processes")
      ->type_name("");
  verb->add_option("ACTION", options->action,
                   "start, stop, interval SIZE, mark NAME, segment, watch or status (default)")
      ->check(one_of({"start", "stop", "interval", "mark", "segment", "watch", "status"}))
      ->type_name("");
  verb->add_option("ARGUMENT", options->argument, "Argument of interval and mark")->type_name("");
  verb->add_option("-d,--directory", options->directory,
                   "start: directory of the trace (default: GEIGER_DIR of the program,\n"
                   "else geiger-PROGRAM.PID/ here)")
      ->type_name("DIR");
  verb->add_option("--interval", options->interval, "start: sampling interval")->type_name("SIZE");
  verb->add_option("--wait", options->wait,
                   "How long to wait for the program to respond (default 2s)")
      ->type_name("TIME");
  add_watch_options(*verb, options->watch);
  verb->add_flag("--json", options->is_json, "status: print JSON (docs/json.md)");
  add_terminal_options(*verb);
  verb->footer(
      "\nControls programs under 'geiger run', and dormant ones that have the library\n"
      "loaded (geiger run --dormant, LD_PRELOAD, /etc/ld.so.preload:\n"
      "docs/production.md). Without PID, lists all of them. Uses neither signals nor\n"
      "ptrace: a program responds once it has allocated one sampling interval.\n"
      "\nExamples:\n"
      "  geiger ctl\n"
      "  geiger ctl 4711 start --interval 64KiB\n"
      "  geiger ctl 4711 mark 'cache warm'\n"
      "  geiger ctl 4711 stop");
  verb->callback([options, &exit_code] { exit_code = control(*options); });
}

}  // namespace geiger::cli
