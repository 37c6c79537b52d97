// The verbs of `geiger fleet`: each adds itself to that of `fleet`, as those of commands.h do to
// the program.
#pragma once

#include "analysis/present/fields.h"
#include "cli/verbs/commands.h"

namespace geiger::cli {

void add_fleet_init(CLI::App& fleet, Work& work);
void add_fleet_list(CLI::App& fleet, Work& work);
void add_fleet_top(CLI::App& fleet, Work& work);
void add_fleet_diff(CLI::App& fleet, Work& work);
void add_fleet_check(CLI::App& fleet, Work& work);
void add_fleet_series(CLI::App& fleet, Work& work);
void add_fleet_cost(CLI::App& fleet, Work& work);
void add_fleet_report(CLI::App& fleet, Work& work);
void add_fleet_symbolize(CLI::App& fleet, Work& work);
void add_fleet_maintain(CLI::App& fleet, Work& work);
void add_fleet_remove(CLI::App& fleet, Work& work);
void add_fleet_doctor(CLI::App& fleet, Work& work);

/// Of the documents of those that nothing else describes.
present::DocumentSchema fleet_list_schema();
present::DocumentSchema fleet_services_schema();
present::DocumentSchema fleet_remove_schema();
present::DocumentSchema fleet_symbolize_schema();
present::DocumentSchema fleet_maintain_schema();
present::DocumentSchema fleet_doctor_schema();

}  // namespace geiger::cli
