// `geiger fleet cost`: the cost of the memory of all hosts, and the objects in it.
#include "analysis/report/fleet/cost.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/present/coverage.h"
#include "analysis/report/profiles/table.h"
#include "base/text.h"
#include "cli/options/ending.h"
#include "cli/options/fleet_options.h"
#include "cli/options/parsed_option.h"
#include "cli/options/selection_options.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/fleet/fleet_verbs.h"
#include "cli/verbs/fleet/versions.h"
#include "estimation/estimate.h"

namespace geiger::cli {
namespace {

struct CostArguments {
  FleetOptions fleet;
  std::string version;
  report::CostOptions cost;
};

base::Outcome<double> parse_price(const std::string& text) {
  const auto price = base::number_in<double>(text);
  if (price && *price > 0 && std::isfinite(*price)) return *price;
  return base::Failure{fmt::format("invalid price '{}' (example: 0.005)", text)};
}

double rss_byte_hours(const std::vector<fleet::HostSums>& hosts) {
  double bytes = 0;
  for (const fleet::HostSums& host : hosts) bytes += static_cast<double>(host.rss_byte_seconds);
  return bytes / present::kHourSeconds;
}

double recorded_hours(const std::vector<fleet::HostSums>& hosts) {
  std::uint64_t recorded_ms = 0;
  for (const fleet::HostSums& host : hosts) recorded_ms += host.recorded_ms;
  return present::hours_of(recorded_ms);
}

/// Live objects are averaged over the time of the host that was recorded for longest; multiplied by
/// that time they are bytes times hours.
void add_objects(report::CostReport& report, const fleet::Fleet& fleet) {
  constexpr auto kKind = profile::Kind::kLiveAtEnd;
  report::TableOptions options;
  options.level = report.options.level;
  options.top = report.options.top;
  const auto table = report::table_report(
      fleet.recording, select_in(fleet.recording, kKind, fleet.longest_ms()), options);
  const double hours = present::hours_of(fleet.longest_ms());
  report.live = estimation::scaled(table.total.bytes, hours);
  report.others = estimation::scaled(table.others.bytes, hours);
  report.rows = table.rows - table.callers;
  for (const report::TableLine& line : table.lines) {
    report.lines.push_back(
        {line.name, line.detail, line.where, estimation::scaled(line.self.bytes, hours)});
  }
}

base::Outcome<int> print_cost(CostArguments& options) {
  auto [store, filter] = GEIGER_TRY(open_part(options.fleet, options.version));
  const auto reach = GEIGER_TRY(fleet::reach_of(*store, filter));
  const auto all = GEIGER_TRY(store->hosts(filter));
  report::CostReport report;
  report.options = options.cost;
  report.options.level = options.fleet.level;
  report.bill = rss_byte_hours(all);
  const auto coverage = coverage_of(filter, reach);
  filter.with_rss = true;
  const auto known = GEIGER_TRY(store->hosts(filter));
  if (known.empty()) {
    return base::Failure{
        "no selected window has resident memory: 'geiger agent' records it, and 'geiger run' "
        "without --no-observe"};
  }
  options.fleet.kind = profile::Kind::kLiveAtEnd;
  const auto fleet = GEIGER_TRY(ask_named(*store, filter, options.fleet, fleet::Unit::kFleet));
  report.known_hours = recorded_hours(fleet.hosts);
  report.unknown_hours = std::max(recorded_hours(all) - report.known_hours, 0.0);
  report.unrecorded = std::max(report.bill - rss_byte_hours(fleet.hosts), 0.0);
  report.options.scope = scope_of(filter, fleet, options.fleet.kind);
  report.options.scope.fleet = {coverage};
  add_objects(report, fleet);
  report::settle(report);
  return print(report, options.fleet) ? kExitOk : kExitFailed;
}

}  // namespace

void add_fleet_cost(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<CostArguments>();
  CLI::App* verb = fleet.add_subcommand(
      "cost", "What the memory of all hosts costs, and which objects it holds");
  verb->add_option("VERSION", options->version, "Version of the service (default: all together)")
      ->type_name("");
  add_store_options(*verb, options->fleet);
  add_part_options(*verb, options->fleet);
  add_parsed(*verb, "--price", "N",
             "Price of one GiB for one hour, in any currency (default: show only\n"
             "bytes times hours)",
             parse_price, [options](double price) { options->cost.price = price; });
  add_number(*verb, "--top", "N", options->cost.top, "Rows to show (default 30; 0: all)");
  add_names_option(*verb);
  add_frame_options(*verb, options->fleet.frames);
  verb->callback([options, &work] { work = [options] { return print_cost(*options); }; });
}

}  // namespace geiger::cli
