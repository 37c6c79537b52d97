// `geiger fleet list`: the versions in a store.
#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/format.h"
#include "analysis/present/grid.h"
#include "cli/options/fleet_options.h"
#include "cli/verbs/fleet/fleet_verbs.h"
#include "query/words.h"
#include "terminal/terminal.h"

namespace geiger::present {

using fleet::VersionFacts;

static const Fields<VersionFacts>& fields_of(Of<VersionFacts> /*type*/) {
  static const auto kFields =
      Fields<VersionFacts>()
          .field("service", "", &VersionFacts::service)
          .field("version", "", &VersionFacts::version)
          .field("hosts", "", &VersionFacts::hosts)
          .field("processes", "", &VersionFacts::processes)
          .field("windows", "", &VersionFacts::windows)
          .field("samples", "", &VersionFacts::samples)
          .field("first", "when its first window began",
                 [](const VersionFacts& it) { return query::date_text(it.first); })
          .field("last", "when its last window began",
                 [](const VersionFacts& it) { return query::date_text(it.last); });
  return kFields;
}

}  // namespace geiger::present

namespace geiger::cli {
namespace {

using fleet::VersionFacts;
using present::Fields;
using present::Of;

struct FleetList {
  const std::vector<VersionFacts>& versions;
};

const Fields<FleetList>& fields_of(Of<FleetList> /*type*/) {
  static const auto kFields = Fields<FleetList>().field(
      "versions", "", [](const FleetList& it) { return std::span(it.versions); });
  return kFields;
}

base::Outcome<int> print_list(const FleetOptions& options) {
  auto store = GEIGER_TRY(open_store(options));
  const auto versions = GEIGER_TRY(store->versions());
  if (options.is_json) {
    return terminal::print_data(present::document("fleet-list", FleetList{versions})) ? kExitOk
                                                                                      : kExitFailed;
  }
  const present::Style style = terminal::output_style(options.level);
  present::Grid grid({{"service", present::Align::kLeft},
                      {"version", present::Align::kLeft},
                      {"hosts"},
                      {"processes"},
                      {"samples"},
                      {"first", present::Align::kLeft},
                      {"last", present::Align::kLeft}});
  for (const VersionFacts& facts : versions) {
    grid.add({facts.service, facts.version, present::exact_count(facts.hosts),
              present::exact_count(facts.processes), present::exact_count(facts.samples),
              query::date_text(facts.first), query::date_text(facts.last)});
  }
  return terminal::print_report(grid.text(style), style) ? kExitOk : kExitFailed;
}

}  // namespace

present::DocumentSchema fleet_list_schema() {
  return present::document_schema<FleetList>("fleet-list");
}

void add_fleet_list(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<FleetOptions>();
  CLI::App* verb = fleet.add_subcommand("list", "Services and versions in the store");
  add_store_options(*verb, *options);
  verb->callback([options, &work] { work = [options] { return print_list(*options); }; });
}

}  // namespace geiger::cli
