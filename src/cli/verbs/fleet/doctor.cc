// `geiger fleet doctor`: what a store lacks, refused or doubts.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <span>
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

static const Fields<fleet::ProcessFacts>& fields_of(Of<fleet::ProcessFacts> /*type*/) {
  static const auto kFields = Fields<fleet::ProcessFacts>()
                                  .field("service", "", &fleet::ProcessFacts::service)
                                  .field("version", "", &fleet::ProcessFacts::version)
                                  .field("host", "", &fleet::ProcessFacts::host)
                                  .field("windows", "", &fleet::ProcessFacts::windows);
  return kFields;
}

static const Fields<fleet::ClockFacts>& fields_of(Of<fleet::ClockFacts> /*type*/) {
  static const auto kFields =
      Fields<fleet::ClockFacts>()
          .field("host", "", &fleet::ClockFacts::host)
          .field("measured_seconds", "by an agent, before it corrected its windows",
                 &fleet::ClockFacts::measured)
          .field("ahead_seconds", "by which windows begin after they were received",
                 [](const fleet::ClockFacts& it) { return std::max<std::int64_t>(it.ahead, 0); });
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
          .field("refusals", "by reason", &Health::refusals)
          .field("seed_sharers", "processes of which one used the seed of another",
                 [](const Health& it) { return std::span(it.seed_sharers); })
          .field("wrong_clocks", "hosts whose clocks were wrong by an hour or more",
                 [](const Health& it) { return std::span(it.wrong_clocks); });
  return kFields;
}

}  // namespace geiger::present

namespace geiger::cli {
namespace {

/// "shop 1.0 on web-1, shop 1.1 on web-1 and 3 more"
std::string sharers_of(const fleet::Health& health) {
  constexpr std::size_t kMostSaid = 4;
  return present::first_of(health.seed_sharers, kMostSaid, [](const fleet::ProcessFacts& each) {
    return fmt::format("{} {} on {}", each.service, each.version, each.host);
  });
}

std::string complaint_about(const fleet::ClockFacts& clock) {
  constexpr std::int64_t kHour = 3600;
  const auto time = [](std::int64_t seconds) {
    return present::duration(static_cast<Nanoseconds>(seconds) * 1'000'000'000);
  };
  if (clock.ahead >= kHour) {
    return fmt::format(
        "the clock of host {} was ahead: windows begin {} after they were received; 'geiger fleet "
        "remove' removes them",
        clock.host, time(clock.ahead));
  }
  return fmt::format("the clock of host {} was {} off: the agent corrected its windows", clock.host,
                     time(clock.measured));
}

/// What is wrong with a store, a sentence each.
std::vector<std::string> complaints_about(const fleet::Health& health) {
  std::vector<std::string> found;
  const auto add = [&](std::uint64_t count, const char* one, const char* several) {
    if (count > 0) found.push_back(fmt::format("{} {}", count, count == 1 ? one : several));
  };
  add(health.incomplete_windows, "window lacks rows that were sent: send it again",
      "windows lack rows that were sent: send them again");
  add(health.shared_seeds,
      "process sampled with the seed of another one, so intervals are too narrow; "
      "'geiger fleet remove' undoes a run pushed twice",
      "processes sampled with the seeds of others, so intervals are too narrow; "
      "'geiger fleet remove' undoes runs pushed twice");
  if (const std::string named = sharers_of(health); !named.empty()) found.back() += ": " + named;
  for (const fleet::ClockFacts& clock : health.wrong_clocks)
    found.push_back(complaint_about(clock));
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
  auto health = GEIGER_TRY(store->health(from));
  if (health.shared_seeds > 0) health.seed_sharers = GEIGER_TRY(store->with_shared_seeds());
  health.wrong_clocks = GEIGER_TRY(store->wrong_clocks());
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
