// `geiger fleet list`: the versions in a store.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "analysis/present/json.h"
#include "cli/options/fleet_options.h"
#include "cli/verbs/fleet/fleet_verbs.h"
#include "query/dates.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

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

}  // namespace

void add_fleet_list(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<FleetOptions>();
  CLI::App* verb = fleet.add_subcommand("list", "Services and versions in the store");
  add_store_options(*verb, *options);
  verb->callback([options, &work] { work = [options] { return print_list(*options); }; });
}

}  // namespace geiger::cli
