// `geiger fleet`: reports on what many hosts sent to a store.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/compare/comparison.h"
#include "analysis/compare/gates.h"
#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/heading.h"
#include "analysis/present/json.h"
#include "analysis/present/text.h"
#include "analysis/report/compare/diff.h"
#include "analysis/report/profiles/table.h"
#include "cli/options/fleet_options.h"
#include "cli/options/frame_options.h"
#include "cli/options/gate_options.h"
#include "cli/options/input.h"
#include "cli/options/next_step.h"
#include "cli/options/parsed_option.h"
#include "cli/options/print.h"
#include "cli/options/sides.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/commands.h"
#include "fleet/document/cut.h"
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
profile::Profile select_in(const profile::Recording& recording, profile::Kind kind,
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
      fleet->recording, select_in(fleet->recording, options.fleet.kind, fleet->longest_ms()),
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

/// What hosts are compared by.
enum class Per : std::uint8_t { kHost, kHour, kTotal };

/// The hosts of a version, and what each was exposed to.
struct Side {
  compare::Which which = compare::Which::kBefore;
  fleet::Fleet fleet;
  std::vector<double> exposures;
};

double bytes_of(const profile::Recording& recording, profile::Kind kind, std::uint64_t range_ms) {
  const estimation::NodeSums sums = profile::total(recording, select_in(recording, kind, range_ms));
  return sums.certain_bytes + sums.weighted_bytes;
}

std::vector<double> exposures_of(const fleet::Fleet& fleet, profile::Kind kind, Per per) {
  std::vector<double> exposures;
  const auto add = [&](const profile::Recording& recording,
                       const fleet::HostSums& host) -> base::Outcome<void> {
    constexpr double kHourMs = 3.6e6;
    switch (per) {
      case Per::kHost:
        exposures.push_back(1);
        break;
      case Per::kHour:
        exposures.push_back(static_cast<double>(host.recorded_ms) / kHourMs);
        break;
      case Per::kTotal:
        exposures.push_back(bytes_of(recording, kind, host.recorded_ms));
        break;
    }
    return {};
  };
  static_cast<void>(fleet::for_each_host(fleet, add).has_value());
  return exposures;
}

/// Hosts that were recorded for about as long are compared as they are, and so are jobs, which end
/// within a step of the grid. Live memory is a mean over the time already.
Per usual_per(const std::vector<Side>& sides, profile::Kind kind) {
  constexpr double kAlike = 1.05;
  if (kind != profile::Kind::kAllocated) return Per::kHost;
  std::uint64_t shortest = sides.front().fleet.shortest_ms(), longest = 0;
  for (const Side& side : sides) {
    shortest = std::min(shortest, side.fleet.shortest_ms());
    longest = std::max(longest, side.fleet.longest_ms());
  }
  const bool is_alike = static_cast<double>(longest) <= kAlike * static_cast<double>(shortest);
  const bool are_jobs = longest < static_cast<std::uint64_t>(fleet::kGrid) * 1000;
  return is_alike || are_jobs ? Per::kHost : Per::kHour;
}

/// Makes the mean exposure the unit, so that values are bytes of an average host. What values are
/// per, in words.
std::string normalise(std::vector<Side>& sides, profile::Kind kind, Per per) {
  double sum = 0, count = 0;
  for (Side& side : sides) {
    side.exposures = exposures_of(side.fleet, kind, per);
    for (const double exposure : side.exposures) sum += exposure;
    count += static_cast<double>(side.exposures.size());
  }
  const double unit = sum / count;
  for (Side& side : sides) {
    for (double& exposure : side.exposures) exposure /= unit;
  }
  switch (per) {
    case Per::kHost:
      break;
    case Per::kHour:
      return present::duration(static_cast<Nanoseconds>(unit * 3.6e12)) + " of a host";
    case Per::kTotal:
      return present::bound_bytes(unit) + " of a host";
  }
  return "host";
}

/// Adds each host of a side as a run.
base::Outcome<void> add_hosts(Side side, profile::Kind kind, compare::Collector& collector) {
  std::size_t next = 0;
  return fleet::for_each_host(
      std::move(side.fleet),
      [&](const profile::Recording& recording, const fleet::HostSums& host) -> base::Outcome<void> {
        const auto error =
            collector.add(side.which, recording, select_in(recording, kind, host.recorded_ms),
                          side.exposures[next++]);
        if (!error) return {};
        return base::Failure{fmt::format("{}: {}", host.host, compare::text_of(*error))};
      });
}

/// Versions before and after; none before where the limits need none.
struct Versions {
  std::string before, after;
  std::optional<Per> per;  ///< As typed.
};

/// What the report calls the sides.
struct Shown {
  std::vector<std::string> before, after;
  std::string per;
};

/// Collects both, and says what a report calls them.
base::Outcome<compare::Collected> collect_versions(const FleetOptions& options,
                                                   const Versions& versions,
                                                   compare::Collector collector, Shown& shown) {
  auto store = open_store(options);
  if (!store.has_value()) return store.failure();
  auto filter = filter_of(options, *store.value());
  if (!filter.has_value()) return filter.failure();
  std::vector<Side> sides;
  for (const compare::Which which : compare::kBoth) {
    const bool is_before = which == compare::Which::kBefore;
    filter->version = is_before ? versions.before : versions.after;
    if (filter->version->empty()) continue;
    auto fleet = ask_named(*store.value(), filter.value(), options, fleet::Unit::kHost);
    if (!fleet.has_value()) return fleet.failure();
    sides.push_back({which, std::move(fleet.value()), {}});
    (is_before ? shown.before : shown.after) = {text_of(filter.value())};
  }
  const Per per = versions.per.value_or(usual_per(sides, options.kind));
  shown.per = normalise(sides, options.kind, per);
  for (Side& side : sides) {
    const auto added = add_hosts(std::move(side), options.kind, collector);
    if (!added.has_value()) return added.failure();
  }
  return collector.finish();
}

struct FleetDiffArguments {
  FleetOptions fleet;
  Versions versions;
  report::DiffOptions diff;
  compare::Grouping grouping;
};

base::Outcome<int> print_fleet_diff(FleetDiffArguments& options) {
  Shown shown;
  auto collected =
      collect_versions(options.fleet, options.versions,
                       compare::Collector(options.fleet.kind, options.grouping), shown);
  if (!collected.has_value()) return collected.failure();
  options.diff.before = std::move(shown.before);
  options.diff.after = std::move(shown.after);
  options.diff.run = "host";
  options.diff.per = std::move(shown.per);
  if (const auto error = compare::problem_with(collected.value(), options.fleet.level)) {
    return base::Failure{std::string(compare::text_of(*error))};
  }
  const auto report = report::diff_report(
      compare::compare(std::move(collected.value()), options.fleet.level), options.diff);
  return print(report, options.fleet.level, options.fleet.is_json) ? kExitOk : kExitFailed;
}

void add_per_option(CLI::App& verb, std::optional<Per>& per) {
  add_choice(verb, "--per", "UNIT",
             "host, hour (of a host; default if hosts ran for long, and for\n"
             "different times), or total: of what each host has in all",
             Choices<Per>{{"host", Per::kHost}, {"hour", Per::kHour}, {"total", Per::kTotal}},
             [&per](Per unit) { per = unit; });
}

void add_diff(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<FleetDiffArguments>();
  CLI::App* verb = fleet.add_subcommand(
      "diff", "What changed between two versions, each host counting as one run");
  verb->add_option("BEFORE", options->versions.before, "Version before")->type_name("")->required();
  verb->add_option("AFTER", options->versions.after, "Version after")->type_name("")->required();
  add_store_options(*verb, options->fleet);
  add_part_options(*verb, options->fleet);
  add_fleet_kind_option(*verb, options->fleet);
  add_per_option(*verb, options->versions.per);
  add_grouping_options(*verb, options->grouping, true);
  verb->add_option("--top", options->diff.top, "Rows to show (default 30; 0: all)")->type_name("N");
  verb->add_flag("--all", options->diff.shows_all,
                 "Also show rows whose difference is within noise");
  add_names_option(*verb);
  add_frame_options(*verb, options->fleet.frames);
  verb->callback([options, &work] { work = [options] { return print_fleet_diff(*options); }; });
}

// ------------------------------------------------------------------- check ---

struct FleetCheckArguments {
  FleetOptions fleet;
  std::vector<std::string> versions;
  std::optional<Per> per;
  GateOptions gates;
};

base::Outcome<int> check_fleet(FleetCheckArguments& options) {
  const auto gates = gates_of(options.gates);
  if (!gates.has_value()) return usage_failure("fleet check: " + gates.reason());
  const bool needs_before = has_growth_limit(gates.value());
  if (options.versions.size() != (needs_before ? 2 : 1)) {
    return usage_failure(needs_before
                             ? "fleet check: limits on growth need two versions: BEFORE AFTER"
                             : "fleet check: name one version to check");
  }
  const Versions versions{needs_before ? options.versions[0] : "", options.versions.back(),
                          options.per};
  Shown shown;
  const auto collected = collect_versions(
      options.fleet, versions,
      compare::Collector(options.fleet.kind, options.gates.grouping, patterns_of(gates.value())),
      shown);
  if (!collected.has_value()) return collected.failure();
  options.gates.check.before = std::move(shown.before);
  options.gates.check.after = std::move(shown.after);
  options.gates.check.per = std::move(shown.per);
  options.gates.check.level = options.fleet.level;
  options.gates.is_json = options.fleet.is_json;
  return print_gates(options.gates, options.fleet.kind, gates.value(), collected.value());
}

void add_check(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<FleetCheckArguments>();
  CLI::App* verb =
      fleet.add_subcommand("check", "Check limits on a version, as a gate of releases");
  verb->add_option("VERSION", options->versions,
                   "Version before and version after; without limits on growth\n"
                   "only the version to check")
      ->type_name("")
      ->required();
  add_per_option(*verb, options->per);
  add_gate_options(*verb, options->gates);
  add_store_options(*verb, options->fleet);
  add_part_options(*verb, options->fleet);
  add_fleet_kind_option(*verb, options->fleet);
  add_names_option(*verb);
  add_frame_options(*verb, options->fleet.frames);
  verb->footer(
      "\nLimits are per host. Exit code: 0 all limits are met, 3 a limit is exceeded,\n"
      "4 undecided (the report says what would decide), 1 the store cannot be read,\n"
      "2 usage error.\n");
  verb->callback([options, &work] { work = [options] { return check_fleet(*options); }; });
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

// ------------------------------------------------------------------ doctor ---

/// What is wrong with a store, a sentence each.
std::vector<std::string> complaints_about(const fleet::Health& health) {
  std::vector<std::string> found;
  const auto add = [&](std::uint64_t count, const char* one, const char* several) {
    if (count > 0) found.push_back(fmt::format("{} {}", count, count == 1 ? one : several));
  };
  add(health.incomplete_windows, "window lacks rows that were sent: send it again",
      "windows lack rows that were sent: send them again");
  add(health.shared_seeds, "process sampled with the seed of another one: intervals are too narrow",
      "processes sampled with the seeds of others: intervals are too narrow");
  add(health.unknown_stacks, "stack was counted and never sent",
      "stacks were counted and never sent");
  add(health.gaps, "stretch of time is known to be missing",
      "stretches of time are known to be missing");
  for (const auto& [reason, count] : health.refusals) {
    found.push_back(fmt::format("{} refused: {}", present::plural(count, "document"), reason));
  }
  return found;
}

std::string health_json(const fleet::Health& health) {
  present::JsonWriter json("fleet-doctor");
  json.field("incomplete_windows", health.incomplete_windows);
  json.field("shared_seeds", health.shared_seeds);
  json.field("unknown_stacks", health.unknown_stacks);
  json.field("unnamed_locations", health.unnamed_locations);
  json.field("gaps", health.gaps);
  json.array("refusals", health.refusals, [&](const auto& refusal) {
    json.begin_object()
        .field("reason", refusal.first)
        .field("documents", refusal.second)
        .end_object();
  });
  return json.finish();
}

base::Outcome<int> examine_store(const FleetOptions& options) {
  auto store = open_store(options);
  if (!store.has_value()) return store.failure();
  const auto health = store.value()->health();
  if (!health.has_value()) return health.failure();
  const std::vector<std::string> found = complaints_about(health.value());
  const int exit_code = found.empty() ? kExitOk : kExitFailed;
  if (options.is_json) {
    return terminal::print_data(health_json(health.value())) ? exit_code : kExitFailed;
  }
  std::string text = found.empty() ? "The store is healthy.\n" : "";
  for (const std::string& sentence : found) text += sentence + ".\n";
  if (health->unnamed_locations > 0) {
    text += fmt::format("{} sent without a name: reports look them up by build id.\n",
                        present::plural(health->unnamed_locations, "program point"));
  }
  return terminal::print_report(text, terminal::output_style(options.level)) ? exit_code
                                                                             : kExitFailed;
}

void add_doctor(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<FleetOptions>();
  CLI::App* verb = fleet.add_subcommand("doctor", "Check the store for missing and doubtful data");
  add_store_options(*verb, *options);
  verb->footer("\nExit code: 0 healthy, 1 something is missing or doubtful, 2 usage error.\n");
  verb->callback([options, &work] { work = [options] { return examine_store(*options); }; });
}

}  // namespace

void register_fleet(CLI::App& app, Work& work) {
  CLI::App* verb = app.add_subcommand("fleet", "Report on what many hosts sent to a store");
  verb->require_subcommand(1);
  add_list(*verb, work);
  add_top(*verb, work);
  add_diff(*verb, work);
  add_check(*verb, work);
  add_doctor(*verb, work);
}

}  // namespace geiger::cli
