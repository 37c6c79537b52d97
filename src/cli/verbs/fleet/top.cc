// `geiger fleet top`: where the memory of all hosts went.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "analysis/report/profiles/table.h"
#include "cli/options/ending.h"
#include "cli/options/fleet_options.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/fleet/fleet_verbs.h"
#include "cli/verbs/fleet/glance.h"
#include "cli/verbs/fleet/versions.h"

namespace geiger::cli {
namespace {

using profile::GroupBy;

struct TopArguments {
  FleetOptions fleet;
  std::string version;
  report::TableOptions table;
  bool by_service = false;
};

/// Nothing stands for services.
const Choices<std::optional<GroupBy>> kFleetGroups{
    {"function", GroupBy::kFunction}, {"line", GroupBy::kLine}, {"stack", GroupBy::kStack},
    {"module", GroupBy::kModule},     {"size", GroupBy::kSize}, {"host", GroupBy::kProcess},
    {"service", std::nullopt}};

/// Whether services are to be compared: also where none is chosen and the store has several.
base::Outcome<bool> is_of_services(const TopArguments& options) {
  if (options.by_service) return true;
  if (!options.fleet.service.empty() || !options.version.empty()) return false;
  auto store = GEIGER_TRY(open_store(options.fleet));
  const auto services = GEIGER_TRY(store->services());
  return services.size() > 1;
}

base::Outcome<int> print_top(TopArguments& options) {
  if (GEIGER_TRY(is_of_services(options))) return print_services(options.fleet);
  const auto part = GEIGER_TRY(open_part(options.fleet, options.version));
  const bool has_hosts = options.table.by == GroupBy::kProcess;
  const auto unit = has_hosts ? fleet::Unit::kHost : fleet::Unit::kFleet;
  const auto fleet = GEIGER_TRY(ask_named(*part.store, part.filter, options.fleet, unit));
  options.table.level = options.fleet.level;
  options.table.scope = scope_of(part.filter, fleet, options.fleet.kind);
  const auto profile = select_in(fleet.recording, options.fleet.kind, fleet.longest_ms());
  options.table.scope.fleet = {coverage_of(part.filter, fleet, profile, options.fleet.level)};
  const auto report = report::table_report(fleet.recording, profile, options.table);
  return print(report, options.fleet, fleet.recording) ? kExitOk : kExitFailed;
}

}  // namespace

void add_fleet_top(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<TopArguments>();
  CLI::App* verb = fleet.add_subcommand("top", "Where the memory of all hosts went, row by row");
  verb->add_option("VERSION", options->version, "Version of the service (default: all together)")
      ->type_name("");
  add_store_options(*verb, options->fleet);
  add_part_options(*verb, options->fleet);
  add_fleet_kind_option(*verb, options->fleet);
  add_choice(*verb, "--by", "GROUP",
             "function (default), line, stack, module, size, host, or service\n"
             "(default where the store has several and none is chosen)",
             kFleetGroups, [options](std::optional<GroupBy> by) {
               options->by_service = !by;
               options->table.by = by.value_or(GroupBy::kFunction);
             });
  add_sort_option(*verb, options->table.sort);
  add_number(*verb, "--top", "N", options->table.top, "Rows to show (default 30; 0: all)");
  add_names_option(*verb);
  add_frame_options(*verb, options->fleet.frames);
  verb->callback([options, &work] { work = [options] { return print_top(*options); }; });
}

}  // namespace geiger::cli
