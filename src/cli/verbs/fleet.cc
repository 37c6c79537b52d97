// `geiger fleet`: reports on what many hosts sent to a store.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "analysis/compare/comparison.h"
#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/json.h"
#include "analysis/present/text.h"
#include "analysis/report/compare/diff.h"
#include "analysis/report/profiles/table.h"
#include "cli/options/fleet_options.h"
#include "cli/options/frame_options.h"
#include "cli/options/input.h"
#include "cli/options/next_step.h"
#include "cli/options/parsed_option.h"
#include "cli/options/print.h"
#include "cli/options/sides.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/commands.h"
#include "query/dates.h"
#include "query/kind_options.h"

namespace geiger::cli {
namespace {

using profile::GroupBy;

/// Of a kind of memory in a fleet, in the words of a heading.
present::Scope scope_of(const fleet::Filter& filter, const fleet::Fleet& fleet,
                        profile::Kind kind) {
  present::Scope scope;
  const std::string hosts = present::plural(fleet.hosts.size(), "host");
  const std::string time = present::duration(fleet.longest_ms() * 1'000'000);
  scope.when = kind == profile::Kind::kAllocated
                   ? fmt::format("allocated on {} in {}", hosts, time)
                   : fmt::format("live on {} on average over {}", hosts, time);
  scope.only.emplace_back("service", filter.service);
  if (filter.version) scope.only.emplace_back("version", *filter.version);
  if (filter.host) scope.only.emplace_back("host", *filter.host);
  for (const auto& [name, value] : filter.labels) scope.only.emplace_back(name, value);
  return scope;
}

/// A profile of a fleet's recording. Live samples were counted once per millisecond.
profile::Profile select(const profile::Recording& recording, profile::Kind kind,
                        std::uint64_t range_ms) {
  profile::Profile profile = profile::select(recording, kind);
  if (kind == profile::Kind::kLiveAtEnd) profile.averaged_over = static_cast<double>(range_ms);
  return profile;
}

// --------------------------------------------------------------------- top ---

struct TopArguments {
  FleetOptions fleet;
  std::string version;
  report::TableOptions table;
};

const Choices<GroupBy> kFleetGroups{{"function", GroupBy::kFunction}, {"line", GroupBy::kLine},
                               {"stack", GroupBy::kStack},       {"module", GroupBy::kModule},
                               {"size", GroupBy::kSize},         {"host", GroupBy::kProcess}};

base::Outcome<int> print_top(TopArguments& options) {
  auto store = open_store(options.fleet);
  if (!store.has_value()) return store.failure();
  auto filter = filter_of(options.fleet, *store.value());
  if (!filter.has_value()) return filter.failure();
  if (!options.version.empty()) filter->version = options.version;
  const bool has_hosts = options.table.by == GroupBy::kProcess;
  const auto unit = has_hosts ? fleet::Unit::kHost : fleet::Unit::kFleet;
  const auto fleet = ask_named(*store.value(), filter.value(), options.fleet, unit);
  if (!fleet.has_value()) return fleet.failure();
  options.table.level = options.fleet.level;
  options.table.scope = scope_of(filter.value(), fleet.value(), options.fleet.kind);
  const auto report = report::table_report(
      fleet->recording, select(fleet->recording, options.fleet.kind, fleet->longest_ms()),
      options.table);
  return print(report, options.fleet.level, options.fleet.is_json, fleet->recording) ? kExitOk
                                                                                     : kExitFailed;
}

void add_top(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<TopArguments>();
  CLI::App* verb = fleet.add_subcommand("top", "Where the memory of all hosts went, row by row");
  verb->add_option("VERSION", options->version, "Version of the service (default: all together)")
      ->type_name("");
  add_store_options(*verb, options->fleet);
  add_part_options(*verb, options->fleet);
  add_fleet_kind_option(*verb, options->fleet);
  add_choice(*verb, "--by", "GROUP", "function (default), line, stack, module, size or host",
             kFleetGroups, [options](GroupBy by) { options->table.by = by; });
  verb->add_option("--top", options->table.top, "Rows to show (default 30; 0: all)")
      ->type_name("N");
  add_names_option(*verb);
  add_frame_options(*verb, options->fleet.frames);
  verb->callback([options, &work] { work = [options] { return print_top(*options); }; });
}

// -------------------------------------------------------------------- diff ---

struct FleetDiffArguments {
  FleetOptions fleet;
  std::string before, after;
  report::DiffOptions diff;
  compare::Grouping grouping;
};

/// Adds each host of a version as a run.
base::Outcome<void> add_hosts(fleet::Store& store, const fleet::Filter& filter,
                              const FleetOptions& options, compare::Which which,
                              compare::Collector& collector) {
  auto fleet = ask_named(store, filter, options, fleet::Unit::kHost);
  if (!fleet.has_value()) return fleet.failure();
  return fleet::for_each_host(
      std::move(fleet.value()),
      [&](const profile::Recording& recording, const fleet::HostSums& host) -> base::Outcome<void> {
        const auto error =
            collector.add(which, recording, select(recording, options.kind, host.recorded_ms));
        if (!error) return {};
        return base::Failure{fmt::format("{}: {}", host.host, compare::text_of(*error))};
      });
}

base::Outcome<compare::Collected> collect_versions(FleetDiffArguments& options) {
  auto store = open_store(options.fleet);
  if (!store.has_value()) return store.failure();
  auto filter = filter_of(options.fleet, *store.value());
  if (!filter.has_value()) return filter.failure();
  compare::Collector collector(options.fleet.kind, options.grouping);
  for (const compare::Which which : compare::kBoth) {
    const bool is_before = which == compare::Which::kBefore;
    filter->version = is_before ? options.before : options.after;
    const auto added = add_hosts(*store.value(), filter.value(), options.fleet, which, collector);
    if (!added.has_value()) return added.failure();
    (is_before ? options.diff.before : options.diff.after) = {text_of(filter.value())};
  }
  return collector.finish();
}

base::Outcome<int> print_fleet_diff(FleetDiffArguments& options) {
  auto collected = collect_versions(options);
  if (!collected.has_value()) return collected.failure();
  if (const auto error = compare::problem_with(collected.value(), options.fleet.level)) {
    return base::Failure{std::string(compare::text_of(*error))};
  }
  const auto report = report::diff_report(
      compare::compare(std::move(collected.value()), options.fleet.level), options.diff);
  return print(report, options.fleet.level, options.fleet.is_json) ? kExitOk : kExitFailed;
}

void add_diff(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<FleetDiffArguments>();
  CLI::App* verb = fleet.add_subcommand(
      "diff", "What changed between two versions, each host counting as one run");
  verb->add_option("BEFORE", options->before, "Version before")->type_name("")->required();
  verb->add_option("AFTER", options->after, "Version after")->type_name("")->required();
  add_store_options(*verb, options->fleet);
  add_part_options(*verb, options->fleet);
  add_fleet_kind_option(*verb, options->fleet);
  add_grouping_options(*verb, options->grouping, true);
  verb->add_option("--top", options->diff.top, "Rows to show (default 30; 0: all)")->type_name("N");
  verb->add_flag("--all", options->diff.shows_all,
                 "Also show rows whose difference is within noise");
  add_names_option(*verb);
  add_frame_options(*verb, options->fleet.frames);
  verb->callback([options, &work] { work = [options] { return print_fleet_diff(*options); }; });
}

// -------------------------------------------------------------------- list ---

std::string versions_json(const std::vector<fleet::VersionFacts>& versions) {
  present::JsonWriter json("fleet-list");
  json.array("versions", versions, [&](const fleet::VersionFacts& facts) {
    json.begin_object();
    json.field("service", facts.service).field("version", facts.version);
    json.field("hosts", facts.hosts).field("processes", facts.processes);
    json.field("windows", facts.windows).field("samples", facts.samples);
    json.field("first", query::date_text(facts.first));
    json.field("last", query::date_text(facts.last));
    json.end_object();
  });
  return json.finish();
}

base::Outcome<int> print_list(const FleetOptions& options) {
  auto store = open_store(options);
  if (!store.has_value()) return store.failure();
  const auto versions = store.value()->versions();
  if (!versions.has_value()) return versions.failure();
  if (options.is_json) {
    return terminal::print_data(versions_json(versions.value())) ? kExitOk : kExitFailed;
  }
  const present::Style style = terminal::output_style(options.level);
  present::Grid grid({{"service", present::Align::kLeft},
                      {"version", present::Align::kLeft},
                      {"hosts"},
                      {"processes"},
                      {"samples"},
                      {"first", present::Align::kLeft},
                      {"last", present::Align::kLeft}});
  for (const fleet::VersionFacts& facts : versions.value()) {
    grid.add({facts.service, facts.version, present::exact_count(facts.hosts),
              present::exact_count(facts.processes), present::exact_count(facts.samples),
              query::date_text(facts.first), query::date_text(facts.last)});
  }
  return terminal::print_report(grid.text(style), style) ? kExitOk : kExitFailed;
}

void add_list(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<FleetOptions>();
  CLI::App* verb = fleet.add_subcommand("list", "Services and versions in the store");
  add_store_options(*verb, *options);
  verb->callback([options, &work] { work = [options] { return print_list(*options); }; });
}

}  // namespace

void register_fleet(CLI::App& app, Work& work) {
  CLI::App* verb = app.add_subcommand("fleet", "Report on what many hosts sent to a store");
  verb->require_subcommand(1);
  add_list(*verb, work);
  add_top(*verb, work);
  add_diff(*verb, work);
}

}  // namespace geiger::cli
