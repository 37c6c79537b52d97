// `geiger fleet init`: makes a store.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/options/fleet_options.h"
#include "cli/verbs/fleet/fleet_verbs.h"
#include "fleet/store/store.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

base::Outcome<int> make_store(const FleetOptions& options) {
  const auto url = GEIGER_TRY(store_url(options));
  GEIGER_TRY(fleet::prepare_store(url, {options.token_file}));
  terminal::complain(fmt::format("{} is ready", url));
  return kExitOk;
}

}  // namespace

void add_fleet_init(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<FleetOptions>();
  CLI::App* verb =
      fleet.add_subcommand("init", "Make the tables of a store, or bring them up to date");
  add_store_location(*verb, *options);
  verb->footer(
      "\nThe user needs the right to create databases and tables. What there is stays as it is.\n"
      "A file needs no init: 'geiger push' makes it.\n");
  verb->callback([options, &work] { work = [options] { return make_store(*options); }; });
}

}  // namespace geiger::cli
