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
  add_fleet_remove(*verb, work);
  add_fleet_doctor(*verb, work);
  verb->footer(
      "\nThe store is a file that 'geiger push' or 'geiger collect' fills, or a database\n"
      "(docs/guide/fleet.md); GEIGER_STORE replaces --store.\n"
      "\nExamples:\n"
      "  geiger push --service shop --version 1.1 fleet.db   the newest run here\n"
      "  geiger fleet top --store fleet.db\n"
      "  geiger fleet diff 1.0 1.1 --store fleet.db\n"
      "  geiger fleet check 1.0 1.1 --max-growth 5% --store fleet.db");
}

}  // namespace geiger::cli
