// `geiger fleet doctor`: what a store lacks, refused or doubts.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "analysis/present/fields.h"
#include "analysis/present/format.h"
#include "cli/options/fleet_options.h"
#include "cli/verbs/fleet/fleet_verbs.h"
#include "query/words.h"
#include "terminal/terminal.h"

namespace geiger::present {

using fleet::Health;
using Refusal = std::pair<const std::string, std::uint64_t>;

static const Fields<Refusal>& fields_of(Of<Refusal> /*type*/) {
  static const auto kFields = Fields<Refusal>()
                                  .field("reason", "", &Refusal::first)
                                  .field("documents", "", &Refusal::second);
  return kFields;
}

static const Fields<Health>& fields_of(Of<Health> /*type*/) {
  static const auto kFields =
      Fields<Health>()
          .field("incomplete_windows", "with fewer rows or samples than were sent",
                 &Health::incomplete_windows)
          .field("shared_seeds", "processes that used the seed of another", &Health::shared_seeds)
          .field("unknown_stacks", "counted, but never sent", &Health::unknown_stacks)
          .field("ambiguous_stacks", "ids that stand for several", &Health::ambiguous_stacks)
          .field("unnamed_locations", "program points without names", &Health::unnamed_locations)
          .field("gaps", "in the recorded time", &Health::gaps)
          .field("refusals", "by reason", &Health::refusals);
  return kFields;
}

}  // namespace geiger::present

namespace geiger::cli {
namespace {

/// What is wrong with a store, a sentence each.
std::vector<std::string> complaints_about(const fleet::Health& health) {
  std::vector<std::string> found;
  const auto add = [&](std::uint64_t count, const char* one, const char* several) {
    if (count > 0) found.push_back(fmt::format("{} {}", count, count == 1 ? one : several));
  };
  add(health.incomplete_windows, "window lacks rows that were sent: send it again",
      "windows lack rows that were sent: send them again");
  add(health.shared_seeds, "process sampled with the seed of another one: intervals are too narrow",
      "processes sampled with the seeds of others: intervals are too narrow");
  add(health.unknown_stacks, "stack was counted but never sent",
      "stacks were counted but never sent");
  add(health.ambiguous_stacks, "id stands for several stacks", "ids stand for several stacks");
  add(health.gaps, "gap in the recorded time: its samples were lost",
      "gaps in the recorded time: their samples were lost");
  for (const auto& [reason, count] : health.refusals) {
    found.push_back(fmt::format("{} refused: {}", present::plural(count, "document"), reason));
  }
  return found;
}

base::Outcome<int> examine_store(const FleetOptions& options) {
  const auto from =
      GEIGER_TRY(options.from.empty() ? base::Outcome<std::int64_t>(0) : time_of(options.from));
  auto store = GEIGER_TRY(open_store(options));
  const auto health = GEIGER_TRY(store->health(from));
  const std::vector<std::string> found = complaints_about(health);
  const int exit_code = found.empty() ? kExitOk : kExitFailed;
  if (options.is_json) {
    return terminal::print_data(present::document("fleet-doctor", health)) ? exit_code
                                                                           : kExitFailed;
  }
  std::string text = found.empty() ? "The store is healthy.\n" : "";
  for (const std::string& sentence : found) text += sentence + ".\n";
  if (health.unnamed_locations > 0) {
    text += fmt::format("{} sent without a name: reports look them up by build id.\n",
                        present::plural(health.unnamed_locations, "program point"));
  }
  return terminal::print_report(text, terminal::output_style(options.level)) ? exit_code
                                                                             : kExitFailed;
}

}  // namespace

present::DocumentSchema fleet_doctor_schema() {
  return present::document_schema<fleet::Health>("fleet-doctor");
}

void add_fleet_doctor(CLI::App& fleet, Work& work) {
  auto options = std::make_shared<FleetOptions>();
  CLI::App* verb = fleet.add_subcommand("doctor", "Check the store for missing and doubtful data");
  add_store_options(*verb, *options);
  verb->add_option(
          "--from", options->from,
          fmt::format("Leave out gaps and refusals of before then:\n{}", query::kDateForms))
      ->type_name("WHEN");
  verb->footer(
      "\nExit code: 0 healthy, 1 something is missing or doubtful, 2 usage error.\n"
      "\nFor an alarm that runs each day: geiger fleet doctor --store fleet.db --from 24h\n");
  verb->callback([options, &work] { work = [options] { return examine_store(*options); }; });
}

}  // namespace geiger::cli
