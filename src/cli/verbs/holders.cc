// `geiger holders`: what keeps the live memory of a running process.
#include "analysis/report/holders/holders.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "analysis/present/text.h"
#include "analysis/report/holders/held_blocks.h"
#include "base/text.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "cli/verbs/commands.h"
#include "control/controlled.h"
#include "control/run_directory.h"
#include "control/run_watch.h"
#include "inject/inject.h"
#include "inject/registers.h"
#include "query/words.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

using profile::LifetimeGrouping;

const Choices<LifetimeGrouping> kHeldGroups{{"function", LifetimeGrouping::kFunction},
                                            {"line", LifetimeGrouping::kLine},
                                            {"stack", LifetimeGrouping::kStack},
                                            {"type", LifetimeGrouping::kType}};

struct HoldersArguments {
  ReadOptions read;
  report::HoldersOptions holders;
  holders::Options scans;
  std::string core;  ///< Empty: running processes.
};

/// The trace that a process writes.
base::Outcome<std::string> trace_of(pid_t pid) {
  if (::kill(pid, 0) != 0 && errno == ESRCH) {
    return base::Failure{
        fmt::format("there is no process {}: if it has ended, name its run, which has the answer "
                    "if it was recorded with --holders",
                    pid)};
  }
  const auto process = GEIGER_TRY(control::Controlled::open(pid));
  if (process.trace() == nullptr) {
    return base::Failure{
        fmt::format("{} is not being recorded (use geiger ctl {} start)", process.shown(), pid)};
  }
  return process.trace()->path();
}

/// What is to be read of `run`, which may be the id of a process.
base::Outcome<std::string> trace_named(const std::string& run) {
  std::error_code error;
  if (std::filesystem::exists(run, error)) return run;
  if (const auto pid = base::number_in<int>(std::string_view(run))) return trace_of(*pid);
  // Of run -o FILE, which is written at the end.
  std::string parts = control::parts_of(run);
  if (std::filesystem::exists(parts, error)) return parts;
  return base::Failure{run +
                       ": there is no such run, and it is not a process id ('geiger ctl list' "
                       "shows the processes that are recorded)"};
}

base::Outcome<double> parse_share(const std::string& text) {
  const auto budget = control::parse_overhead(text);
  if (budget.has_value() && budget->share > 0) return budget->share;
  return base::Failure{"'" + text + "' is not a share of a processor (example: 10%)"};
}

base::Outcome<holders::Copy> copy_process(pid_t pid) {
  const auto copied = GEIGER_TRY(inject::copy_memory({pid}));
  return holders::Copy{copied.pid,
                       copied.copy,
                       copied.begun,
                       copied.done,
                       {copied.thread, "", copied.stack_pointer, 0, copied.registers},
                       copied.was_only_thread};
}

std::vector<holders::ThreadRegisters> read_registers(pid_t pid) {
  std::vector<holders::ThreadRegisters> all;
  for (auto& read : inject::read_registers(pid)) all.push_back({read.tid, std::move(read.words)});
  return all;
}

base::Outcome<int> print_held_blocks(const holders::CoreFile& core,
                                     const HoldersArguments& options) {
  auto census = GEIGER_TRY(holders::count_held(core, options.scans));
  if (census.has_runtime) {
    terminal::complain(core.path() +
                       " is of a process that geiger recorded: name its run too, or the "
                       "recording's own tables count as roots");
  }
  const report::BlocksReport report{
      core.path(),          core.program(),          static_cast<std::uint32_t>(core.pid()),
      options.holders.top,  std::move(census.parts), census.unread,
      census.not_understood};
  return print(report, options.read) ? kExitOk : kExitFailed;
}

base::Outcome<int> print_holders(HoldersArguments& options) {
  options.read.holders = options.scans;
  std::optional<holders::CoreFile> core;
  if (!options.core.empty()) {
    core = GEIGER_TRY(holders::CoreFile::open(options.core));
    if (options.read.runs.empty()) return print_held_blocks(*core, options);
    options.read.core = &*core;
  }
  for (std::string& run : options.read.runs) run = GEIGER_TRY(trace_named(run));
  const auto input = GEIGER_TRY(only_own(read_input(options.read), "holders"));
  options.holders.level = options.read.level;
  const auto report = GEIGER_TRY(
      report::holders_report(input.recording(), options.holders)
          .with_prefix(input.shown.empty() ? "" : present::printable(input.shown) + ": "));
  return print(report, options.read, input.recording()) ? input.exit_code() : kExitFailed;
}

}  // namespace

void register_holders(CLI::App& app, Work& work) {
  auto options = std::make_shared<HoldersArguments>();
  CLI::App* verb = app.add_subcommand("holders", "What keeps the live memory of a running program");
  add_read_options(*verb, options->read);
  add_frame_options(*verb, options->read.frames);
  add_choice(*verb, "--by", "GROUP", "function (default), line, stack or type", kHeldGroups,
             [options](LifetimeGrouping by) { options->holders.by = by; });
  add_number(*verb, "--top", "N", options->holders.top,
             "Sites and roots to list (default 10; 0: all)");
  add_parsed(*verb, "--budget", "LIMIT",
             "Take at most this share of a processor, such as 10%: it then takes longer",
             parse_share, [options](double share) { options->scans.share = share; });
  add_parsed(*verb, "--limit", "TIME",
             "Processor time for a process (default 60s); what is not reached then\nis undecided",
             query::parse_positive_duration,
             [options](Nanoseconds time) { options->scans.processor = time; });
  verb->add_option("--core", options->core,
                   "Of a process that wrote this core file, at that instant; without RUN by size\n"
                   "alone, of glibc's malloc and geiger's")
      ->type_name("FILE");
  verb->add_flag_callback(
      "--snapshot", [options] { options->scans.copy = copy_process; },
      "Scan copies of the process, each of one instant: it stops for that, some\n"
      "milliseconds per GiB, and may use twice its memory meanwhile");
  verb->add_flag_callback(
      "--registers", [options] { options->scans.read_registers = read_registers; },
      "Registers of threads hold memory too: stops one thread after the other for some\n"
      "microseconds, but none whose system call would end by that");
  verb->footer(
      "\nRUN is a recording that goes on, or the id of a process that is being recorded.\n"
      "With --core it may be one that has ended.\n"
      "\nReads the memory of the processes that still run, from outside and without stopping\n"
      "them, once a second until nothing new is found, and follows pointers from variables, stacks "
      "and\n"
      "mappings to the sampled objects (docs/guide/holders.md).\n"
      "\nExit code: 0 success, 1 failure or damaged input, 2 usage error.");
  verb->callback([options, &work] { work = [options] { return print_holders(*options); }; });
}

}  // namespace geiger::cli
