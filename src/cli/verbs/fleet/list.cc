// `geiger fleet list`: the versions in a store.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "cli/options/fleet_options.h"
#include "cli/verbs/fleet/fleet_verbs.h"
#include "cli/verbs/fleet/glance.h"
#include "query/words.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

struct ListedVersion : fleet::VersionFacts {
  std::optional<Glance> glance;  ///< Nothing: nothing of it was recorded.
};

}  // namespace
}  // namespace geiger::cli

namespace geiger::present {

using cli::ListedVersion;
using fleet::VersionFacts;

static const Fields<ListedVersion>& fields_of(Of<ListedVersion> /*type*/) {
  static const auto kFields =
      Fields<ListedVersion>()
          .field("service", "", &VersionFacts::service)
          .field("version", "", &VersionFacts::version)
          .field("hosts", "", &VersionFacts::hosts)
          .field("processes", "", &VersionFacts::processes)
          .field("windows", "", &VersionFacts::windows)
          .field("samples", "", &VersionFacts::samples)
          .field("first", "when its first window began",
                 [](const VersionFacts& it) { return query::date_text(it.first); })
          .field("last", "when its last window began",
                 [](const VersionFacts& it) { return query::date_text(it.last); })
          .field("bytes", "as the total of `fleet top`; absent if nothing was recorded",
                 [](const ListedVersion& it) {
                   return it.glance ? std::optional(it.glance->bytes) : std::nullopt;
                 })
          .field("trend", "in equal steps of its time: per hour of a host, or live per host",
                 [](const ListedVersion& it) {
                   return it.glance ? std::span(it.glance->trend)
                                    : std::span<const estimation::Estimate>();
                 });
  return kFields;
}

}  // namespace geiger::present

namespace geiger::cli {
namespace {

using present::Fields;
using present::Of;

struct FleetList {
  const std::vector<ListedVersion>& versions;
};

const Fields<FleetList>& fields_of(Of<FleetList> /*type*/) {
  static const auto kFields = Fields<FleetList>().field(
      "versions", "", [](const FleetList& it) { return std::span(it.versions); });
  return kFields;
}

base::Outcome<int> print_list(const FleetOptions& options) {
  auto store = GEIGER_TRY(open_store(options));
  const auto facts = GEIGER_TRY(store->versions());
  std::vector<ListedVersion> versions;
  for (const fleet::VersionFacts& each : facts) {
    fleet::Filter filter;
    filter.service = each.service;
    filter.version = each.version;
    const auto hosts = GEIGER_TRY(store->hosts(filter));
    const bool is_recorded = std::ranges::any_of(
        hosts, [](const fleet::HostSums& host) { return host.recorded_ms > 0; });
    versions.push_back({each, {}});
    if (is_recorded) {
      versions.back().glance = GEIGER_TRY(glance_at(*store, filter, options.kind, options.level));
    }
  }
  if (options.is_json) {
    return terminal::print_data(present::document("fleet-list", FleetList{versions})) ? kExitOk
                                                                                      : kExitFailed;
  }
  const present::Style style = terminal::output_style(options.level);
  std::vector<present::Column> columns{{"service", present::Align::kLeft},
                                       {"version", present::Align::kLeft},
                                       {"hosts"},
                                       {"processes"}};
  append_glance_columns(columns);
  columns.push_back({"first", present::Align::kLeft});
  columns.push_back({"last", present::Align::kLeft});
  present::Grid grid(std::move(columns));
  for (const ListedVersion& version : versions) {
    std::vector<std::string> cells{version.service, version.version,
                                   present::exact_count(version.hosts),
                                   present::exact_count(version.processes)};
    append_glance(cells, version.glance.value_or(Glance{}), style);
    cells.insert(cells.end(), {query::date_text(version.first), query::date_text(version.last)});
    grid.add(std::move(cells));
  }
  return terminal::print_report(grid.text(style), style) ? kExitOk : kExitFailed;
}

}  // namespace

present::DocumentSchema fleet_list_schema() {
  return present::document_schema<FleetList>("fleet-list");
}

void add_fleet_list(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<FleetOptions>();
  CLI::App* verb =
      fleet.add_subcommand("list", "Services and versions in the store, with their bytes");
  add_store_options(*verb, *options);
  add_fleet_kind_option(*verb, *options);
  verb->callback([options, &work] { work = [options] { return print_list(*options); }; });
}

}  // namespace geiger::cli
