// `geiger fleet`: reports on the documents of many hosts in a store.
#include <CLI/CLI.hpp>

#include "cli/verbs/fleet/fleet_verbs.h"

namespace geiger::cli {

void register_fleet(CLI::App& app, Work& work) {
  CLI::App* verb = app.add_subcommand("fleet", "Report on the memory of many hosts");
  verb->require_subcommand(1);
  add_fleet_init(*verb, work);
  add_fleet_list(*verb, work);
  add_fleet_top(*verb, work);
  add_fleet_diff(*verb, work);
  add_fleet_check(*verb, work);
  add_fleet_report(*verb, work);
  add_fleet_series(*verb, work);
  add_fleet_cost(*verb, work);
  add_fleet_symbolize(*verb, work);
  add_fleet_maintain(*verb, work);
  add_fleet_doctor(*verb, work);
}

}  // namespace geiger::cli
