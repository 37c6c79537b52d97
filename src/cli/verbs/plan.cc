// `geiger plan`: which interval to record with.
#include "analysis/report/plan/plan.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/output.h"
#include "cli/options/parsed_option.h"
#include "cli/verbs/commands.h"
#include "query/words.h"

namespace geiger::cli {
namespace {

struct PlanArguments {
  ReadOptions read;
  report::PlanOptions plan;
  PictureOptions picture;
};

base::Outcome<Bytes> parse_positive_size(std::string_view text) {
  auto size = query::parse_size(text);
  if (size.has_value() && size.value() == 0) {
    return base::Failure{"must be at least 1 byte"};
  }
  return size;
}

/// Ascending, each once.
base::Outcome<std::vector<Bytes>> parse_intervals(const std::vector<std::string>& texts) {
  constexpr std::size_t kMostIntervals = 6;  // That many columns fit on a line.
  std::vector<Bytes> sizes;
  for (const std::string& text : texts) sizes.push_back(GEIGER_TRY(parse_positive_size(text)));
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.size() > kMostIntervals) {
    return base::Failure{"too many intervals (at most 6)"};
  }
  return sizes;
}

base::Outcome<double> parse_probability(const std::string& text) {
  if (const auto level = parse_level(text)) return *level;
  return base::Failure{"invalid probability '" + text + "' (example: 80%)"};
}

void add_goals(CLI::App& verb, report::PlanOptions& plan) {
  add_parsed(verb, "--site", "SIZE", "Bytes of the site of interest (default: all of RUN)",
             parse_positive_size, [&plan](Bytes size) { plan.site = static_cast<double>(size); });
  add_parsed(verb, "--change", "CHANGE", "Change to detect: 10%, -5%, 2x", query::parse_change,
             [&plan](double change) { plan.change = change; });
  add_parsed(verb, "--precision", "SHARE", "Precision to reach: 5%", query::parse_share,
             [&plan](double share) { plan.precision = share; });
  verb.add_option_function<std::vector<std::string>>(
          "--interval",
          [&plan](const std::vector<std::string>& texts) {
            plan.intervals = value_or_throw("--interval", parse_intervals(texts));
          },
          "Show what this interval detects; several are compared")
      ->type_name("SIZE,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_parsed(verb, "--power", "P", "Chance of detecting the change (default 80%)",
             parse_probability, [&plan](double power) { plan.power = power; });
  add_parsed(verb, "--alpha", "P", "Chance of a false alarm (default 5%)", parse_probability,
             [&plan](double alpha) { plan.alpha = alpha; });
}

/// Fails where the parts of a plan contradict one another.
base::Outcome<void> check_goals(const report::PlanOptions& plan, bool has_run) {
  if (plan.power <= plan.alpha) return base::Failure{"--power must be above --alpha"};
  const bool has_goal = plan.change || plan.precision;
  if (plan.site && !has_goal && plan.intervals.empty() && !has_run) {
    return base::Failure{"--site needs --change or --precision, or --interval"};
  }
  return {};
}

base::Outcome<report::PlanReport> report_of(PlanArguments& options, int& exit_code) {
  options.plan.level = options.read.level;
  if (options.read.runs.empty()) return plan_report(options.plan);
  const auto input = GEIGER_TRY(only_own(read_input(options.read), "plan"));
  exit_code = input.exit_code();
  options.plan.run = input.shown;
  return plan_report(options.plan, input.recording());
}

base::Outcome<int> print_plan(PlanArguments& options) {
  GEIGER_TRY(check_goals(options.plan, !options.read.runs.empty())
                 .failing_as(base::Fault::kRequest, "plan: "));
  int exit_code = kExitOk;
  const auto report = GEIGER_TRY(report_of(options, exit_code));
  GEIGER_TRY(write_picture(options.picture, [&] { return to_svg(report); }));
  const bool is_printed = print(report, options.read);
  return is_printed ? exit_code : kExitFailed;
}

}  // namespace

void register_plan(CLI::App& app, Work& work) {
  auto options = std::make_shared<PlanArguments>();
  CLI::App* verb = app.add_subcommand("plan", "Which interval to record with, and what it costs");
  add_goals(*verb, options->plan);
  add_read_options(*verb, options->read);
  verb->get_option("RUN")->description("Runs whose sizes and rates to plan with (default: none)");
  add_picture_options(*verb, options->picture);
  verb->footer(
      "\nGiven what to detect, prints the interval, the samples and the cost; given an\n"
      "interval, what it detects. Without either, uses the default interval.\n"
      "docs/internals/estimators.md has the formulas.\n"
      "\nExamples:\n"
      "  geiger plan --site 10MiB --change 10%   detect 10 % growth of 10 MiB\n"
      "  geiger plan --site 1GiB --precision 5%  measure 1 GiB to within 5 %\n"
      "  geiger plan --interval 64KiB --svg plan.svg\n"
      "  geiger plan --interval 16KiB,64KiB,512KiB  three intervals side by side\n"
      "  geiger plan geiger-server.4711 --change 5%");
  verb->callback([options, &work] { work = [options] { return print_plan(*options); }; });
}

}  // namespace geiger::cli
