// `geiger fleet maintain`: adds up past days of a store and drops old ones.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <memory>
#include <string>

#include "analysis/present/fields.h"
#include "analysis/present/format.h"
#include "analysis/present/text.h"
#include "cli/options/fleet_options.h"
#include "cli/options/parsed_option.h"
#include "cli/verbs/fleet/fleet_verbs.h"
#include "terminal/terminal.h"

namespace geiger::present {

using fleet::Upkeep;

static const Fields<Upkeep>& fields_of(Of<Upkeep> /*type*/) {
  static const auto kFields =
      Fields<Upkeep>("fleet-maintain", "Days.")
          .field("rolled", "that were added up", &Upkeep::rolled_days)
          .field("short", "left as before: windows lack rows", &Upkeep::short_days)
          .field("dropped", "or now kept by day", &Upkeep::dropped_days);
  return kFields;
}

}  // namespace geiger::present

namespace geiger::cli {
namespace {

constexpr std::int64_t kDaySeconds = 86'400;
/// What the tables of a server drop by themselves (clickhouse_schema.sql).
constexpr std::int64_t kMostCountDays = 30, kMostDays = 400;

struct MaintainArguments {
  FleetOptions fleet;
  std::int64_t keep_days = fleet::kKeptDays, keep_daily_days = 90;
};

std::string upkeep_text(const fleet::Upkeep& upkeep) {
  const auto days = [](std::uint64_t count) { return present::plural(count, "day"); };
  std::string text = fmt::format("{} added up, {} dropped.\n", days(upkeep.rolled_days),
                                 days(upkeep.dropped_days));
  if (upkeep.short_days > 0) {
    text += fmt::format(
        "{} left as before: windows lack rows that were sent ('geiger fleet doctor').\n",
        days(upkeep.short_days));
  }
  return text;
}

base::Outcome<int> maintain(const MaintainArguments& options) {
  auto store = GEIGER_TRY(open_store(options.fleet));
  const std::int64_t today = static_cast<std::int64_t>(std::time(nullptr)) / kDaySeconds;
  const auto upkeep = GEIGER_TRY(
      store->maintain({today, today - options.keep_days, today - options.keep_daily_days}));
  if (options.fleet.is_json) {
    return terminal::print_data(present::document("fleet-maintain", upkeep)) ? kExitOk
                                                                             : kExitFailed;
  }
  return terminal::print_report(upkeep_text(upkeep), terminal::output_style(options.fleet.level))
             ? kExitOk
             : kExitFailed;
}

}  // namespace

present::DocumentSchema fleet_maintain_schema() {
  return present::document_schema<fleet::Upkeep>("fleet-maintain");
}

void add_fleet_maintain(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<MaintainArguments>();
  CLI::App* verb = fleet.add_subcommand("maintain", "Add up past days and drop old ones; daily");
  add_store_options(*verb, options->fleet);
  add_number(*verb, "--keep", "DAYS", options->keep_days,
             "Days whose counts are kept by window, then by day (default 7)", fleet::kKeptDays,
             kMostCountDays);
  add_number(*verb, "--keep-daily", "DAYS", options->keep_daily_days,
             "Days of which anything is kept (default 90)", fleet::kKeptDays, kMostDays);
  verb->footer(
      "\nA day is dropped once it has been added up. What comes late for a day that is kept by\n"
      "window adds it up anew. A file keeps all days by window (--keep-daily).\n");
  verb->callback([options, &work] { work = [options] { return maintain(*options); }; });
}

}  // namespace geiger::cli
