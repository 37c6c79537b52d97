// `geiger fleet remove`: takes back what was pushed by mistake.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/text.h"
#include "cli/options/ending.h"
#include "cli/options/fleet_options.h"
#include "cli/options/input.h"
#include "cli/verbs/fleet/fleet_verbs.h"
#include "query/words.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct RemoveArguments {
  FleetOptions fleet;
  std::string version;
  std::vector<std::string> runs;
  bool is_sure = false;
};

/// What the same processes of a version had on a host.
struct RemovedPart {
  std::string service, version, host;
  std::uint64_t processes = 0, windows = 0, samples = 0;
  std::int64_t first = 0, last = 0;
};

struct Removal {
  bool is_done = false;
  std::vector<RemovedPart> parts;
};

}  // namespace
}  // namespace geiger::cli

namespace geiger::present {

static const Fields<cli::RemovedPart>& fields_of(Of<cli::RemovedPart> /*type*/) {
  static const auto kFields =
      Fields<cli::RemovedPart>()
          .field("service", "", &cli::RemovedPart::service)
          .field("version", "", &cli::RemovedPart::version)
          .field("host", "", &cli::RemovedPart::host)
          .field("processes", "", &cli::RemovedPart::processes)
          .field("windows", "", &cli::RemovedPart::windows)
          .field("samples", "", &cli::RemovedPart::samples)
          .field("first", "when its first window began",
                 [](const cli::RemovedPart& it) { return query::date_text(it.first); })
          .field("last", "when its last window began",
                 [](const cli::RemovedPart& it) { return query::date_text(it.last); });
  return kFields;
}

static const Fields<cli::Removal>& fields_of(Of<cli::Removal> /*type*/) {
  static const auto kFields =
      Fields<cli::Removal>("fleet-remove")
          .field("is_done", "with `--yes`; else nothing was removed", &cli::Removal::is_done)
          .field("parts", "", [](const cli::Removal& it) { return std::span(it.parts); });
  return kFields;
}

}  // namespace geiger::present

namespace geiger::cli {
namespace {

void add_process(std::vector<RemovedPart>& parts, const fleet::ProcessFacts& process) {
  const bool is_next = parts.empty() || parts.back().service != process.service ||
                       parts.back().version != process.version || parts.back().host != process.host;
  if (is_next) {
    parts.push_back({process.service, process.version, process.host, 0, 0, 0, process.first, 0});
  }
  RemovedPart& part = parts.back();
  ++part.processes;
  part.windows += process.windows;
  part.samples += process.samples;
  part.first = std::min(part.first, process.first);
  part.last = std::max(part.last, process.last);
}

/// Of the processes of runs: they are known by these.
base::Outcome<std::vector<std::uint64_t>> seeds_of(const std::vector<std::string>& runs) {
  if (runs.empty()) return std::vector<std::uint64_t>();
  ReadOptions read;
  read.runs = runs;
  const auto input = GEIGER_TRY(read_traces(read));
  std::set<std::uint64_t> seeds;
  for (const profile::Process& process : input.recording().processes) seeds.insert(process.seed);
  return std::vector<std::uint64_t>(seeds.begin(), seeds.end());
}

/// One for each service that may have something of it.
base::Outcome<std::vector<fleet::Filter>> filters_of(fleet::Store& store,
                                                     const RemoveArguments& options) {
  const FleetOptions& part = options.fleet;
  const bool has_choice = !part.service.empty() || !options.version.empty() || !part.host.empty() ||
                          !part.labels.empty() || !part.from.empty() || !part.to.empty() ||
                          !options.runs.empty();
  if (!has_choice) {
    return usage_failure(
        "fleet remove: say what: a VERSION, --service, --host, --label, --from, --to or --run");
  }
  const auto seeds = GEIGER_TRY(seeds_of(options.runs));
  std::vector<std::string> services{part.service};
  if (part.service.empty()) services = GEIGER_TRY(store.services());
  std::vector<fleet::Filter> filters;
  for (const std::string& service : services) {
    FleetOptions own = part;
    own.service = service;
    filters.push_back(GEIGER_TRY(filter_of(store, own, options.version)));
    filters.back().seeds = seeds;
  }
  return filters;
}

std::string removal_text(const Removal& removal, const present::Style& style) {
  if (removal.parts.empty()) return "Nothing in the store is of that.\n";
  present::Grid grid({{"service", present::Align::kLeft},
                      {"version", present::Align::kLeft},
                      {"host", present::Align::kLeft},
                      {"processes"},
                      {"windows"},
                      {"samples"},
                      {"first", present::Align::kLeft},
                      {"last", present::Align::kLeft}});
  std::uint64_t windows = 0;
  for (const RemovedPart& part : removal.parts) {
    windows += part.windows;
    grid.add({present::printable(part.service), present::printable(part.version),
              present::printable(part.host), present::exact_count(part.processes),
              present::exact_count(part.windows), present::exact_count(part.samples),
              query::date_text(part.first), query::date_text(part.last)});
  }
  const std::string count = present::plural(windows, "window");
  return grid.text(style) +
         (removal.is_done ? fmt::format("\nRemoved: {}.\n", count)
                          : fmt::format("\nNothing was removed: --yes removes {}.\n", count));
}

base::Outcome<int> remove_part(const RemoveArguments& options) {
  auto store = GEIGER_TRY(open_store(options.fleet));
  const auto filters = GEIGER_TRY(filters_of(*store, options));
  Removal removal;
  for (const fleet::Filter& filter : filters) {
    const auto processes = GEIGER_TRY(store->processes(filter));
    for (const fleet::ProcessFacts& process : processes) add_process(removal.parts, process);
    if (options.is_sure && !processes.empty()) GEIGER_TRY(store->remove(filter));
  }
  removal.is_done = options.is_sure;
  if (options.fleet.is_json) {
    return terminal::print_data(present::document("fleet-remove", removal)) ? kExitOk : kExitFailed;
  }
  const present::Style style = terminal::output_style(options.fleet.level);
  return terminal::print_report(removal_text(removal, style), style) ? kExitOk : kExitFailed;
}

}  // namespace

present::DocumentSchema fleet_remove_schema() {
  return present::document_schema<Removal>("fleet-remove");
}

void add_fleet_remove(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<RemoveArguments>();
  CLI::App* verb =
      fleet.add_subcommand("remove", "Take back a run, host or version pushed by mistake");
  verb->add_option("VERSION", options->version, "Version to remove (default: of all)")
      ->type_name("");
  add_store_options(*verb, options->fleet);
  add_part_options(*verb, options->fleet);
  verb->add_option("--run", options->runs,
                   "Only the processes of this run or trace, by their seeds; repeatable")
      ->type_name("RUN")
      ->allow_extra_args(false);
  verb->add_flag("--yes", options->is_sure, "Remove it; without, only show what that would be");
  verb->footer(
      "\nWithout --service it removes from all services. What was removed can be pushed\n"
      "again. In a database days that were added up are added up anew by 'maintain'.\n"
      "\nExamples:\n"
      "  geiger fleet remove 1.1-test --store fleet.db         what that would be\n"
      "  geiger fleet remove --run a.geiger --yes --store fleet.db");
  verb->callback([options, &work] { work = [options] { return remove_part(*options); }; });
}

}  // namespace geiger::cli
