// `geiger check`: a gate for CI with three answers.
#include "analysis/report/compare/check.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "analysis/compare/gates.h"
#include "cli/options/gate_file.h"
#include "cli/options/input.h"
#include "cli/options/next_step.h"
#include "cli/options/output.h"
#include "cli/options/selection_options.h"
#include "cli/options/sides.h"
#include "cli/options/terminal_options.h"
#include "cli/verbs/commands.h"
#include "query/kind_options.h"
#include "query/ratio.h"
#include "query/sizes.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

using compare::Limit;
using compare::Measured;

struct CheckArguments {
  std::vector<std::string> runs;
  report::CheckOptions check;
  bool is_json = false;
  bool allows_missing_baseline = false;
  std::string junit, budget, max_growth, max_bytes, ignore_below;
  compare::Grouping grouping;
  CLI::Option* by = nullptr;
  query::SelectionOptions selection;
};

/// The limits given as options: on the whole, and with --by on every site. A limit on
/// bytes is then one of the sites only; a growth that is spread over many of them, each
/// too small to count, must not pass.
void add_limit(compare::Gates& gates, const CheckArguments& options, const Limit& limit,
               const char* source) {
  const bool has_sites = !options.by->empty();
  if (!has_sites || limit.measured == Measured::kGrowth) gates.specs.push_back({{}, limit, source});
  if (has_sites) gates.per_site.push_back({limit, source});
}

base::Outcome<compare::Gates> gates_of(const CheckArguments& options) {
  compare::Gates gates;
  gates.level = options.check.level;
  if (!options.max_growth.empty()) {
    const auto growth = query::parse_growth(options.max_growth);
    if (!growth.has_value()) return growth.failure();
    add_limit(gates, options, {Measured::kGrowth, growth.value()}, "--max-growth");
  }
  if (!options.max_bytes.empty()) {
    const auto bytes = query::parse_size(options.max_bytes);
    if (!bytes.has_value()) return bytes.failure();
    add_limit(gates, options, {Measured::kBytes, static_cast<double>(bytes.value())},
              "--max-bytes");
  }
  if (!options.ignore_below.empty()) {
    const auto bytes = query::parse_size(options.ignore_below);
    if (!bytes.has_value()) return bytes.failure();
    gates.ignore_below = static_cast<double>(bytes.value());
  }
  if (!options.budget.empty()) {
    const auto budget = read_budget(options.budget);
    if (!budget.has_value()) return budget.failure();
    gates.specs.insert(gates.specs.end(), budget->begin(), budget->end());
  }
  if (gates.specs.empty() && gates.per_site.empty()) {
    return base::Failure{"no limit given: use --max-growth, --max-bytes or --budget"};
  }
  return gates;
}

/// Whether no run is there: none was named, or a name leads nowhere (what a shell makes of
/// baseline/*.geiger where that matches nothing) or to an empty directory. Some of several is a
/// baseline, and the missing ones are an error.
bool is_missing(const std::vector<std::string>& runs) {
  return std::ranges::all_of(runs, [](const std::string& run) {
    std::error_code error;
    const auto status = std::filesystem::status(run, error);
    return status.type() == std::filesystem::file_type::not_found ||
           (is_directory(status) && std::filesystem::is_empty(run, error));
  });
}

base::Outcome<void> write_junit(const report::CheckReport& report, const std::string& path) {
  if (path.empty()) return {};
  Output output(path, true);
  output.write(to_junit(report));
  return output.commit();
}

int exit_code_of(compare::Answer answer) {
  switch (answer) {
    case compare::Answer::kPass:
      return kExitOk;
    case compare::Answer::kUndecided:
      return kExitUndecided;
    case compare::Answer::kFail:
      return kExitOverLimit;
  }
  return kExitFailed;
}

/// A limit is kept by what never ran: a mistyped label, tests that did not start.
void say_unseen_labels(const compare::Verdicts& verdicts) {
  for (const compare::GateResult& result : verdicts.results) {
    if (!result.is_of_label || result.samples_after > 0) continue;
    terminal::complain(fmt::format("{}: nothing was sampled within label '{}'; did it run?",
                                   result.source, result.name));
  }
}

base::Outcome<int> print_check(const CheckArguments& options, const compare::Gates& gates,
                               const compare::Collected& collected,
                               std::vector<compare::GateSpec> not_compared) {
  if (const auto error = compare::problem_with(collected, gates)) {
    return base::Failure{std::string(compare::text_of(*error))};
  }
  compare::Verdicts verdicts = compare::check(collected, gates);
  const report::CheckReport report{
      options.check,          std::move(verdicts), query::kind_of(options.selection),
      options.grouping,       collected.before,    collected.after,
      std::move(not_compared)};
  say_unseen_labels(report.verdicts);
  const present::Style style = terminal::output_style(options.check.level);
  const bool has_text = options.junit != "-";
  const bool is_printed = options.is_json
                              ? terminal::print_data(to_json(report))
                              : !has_text || terminal::print_report(to_text(report, style), style);
  const auto written = write_junit(report, options.junit);
  if (!written.has_value()) return written.failure();
  if (!is_printed) return kExitFailed;
  const bool has_failed = report.verdicts.answer == compare::Answer::kFail;
  if (has_failed && has_text && !options.is_json && !report.options.before.empty())
    suggest("diff", words_of({report.options.before, report.options.after}));
  return exit_code_of(report.verdicts.answer);
}

/// The limits and the runs to check.
struct Asked {
  compare::Gates gates;
  Sides sides;
};

base::Outcome<Asked> asked_by(const CheckArguments& options) {
  auto gates = gates_of(options);
  if (!gates.has_value()) return gates.failure();
  const bool needs_before = has_growth_limit(gates.value()) && !options.allows_missing_baseline;
  std::vector<std::string> runs = options.runs;
  if (runs.empty() && !needs_before) {
    auto newest = named_or_newest(runs);
    if (!newest.has_value()) return newest.failure();
    runs = std::move(newest.value());
  }
  auto sides = sides_of(runs, needs_before);
  if (!sides.has_value()) return sides.failure();
  if (!(gates->level > 0.5)) {
    return base::Failure{std::string(text_of(compare::Error::kBadGateLevel))};
  }
  return Asked{std::move(gates.value()), std::move(sides.value())};
}

base::Outcome<int> run_check(CheckArguments& options) {
  auto asked = asked_by(options);
  if (!asked.has_value()) return usage_failure("check: " + asked.reason());
  auto& [gates, sides] = asked.value();
  const bool uses_labels = options.grouping.by == profile::GroupBy::kLabel ||
                           std::ranges::any_of(gates.specs, [](const compare::GateSpec& spec) {
                             return spec.pattern.is_of_label();
                           });
  if (uses_labels) {
    const auto possible =
        query::check_grouping(query::kind_of(options.selection), profile::GroupBy::kLabel);
    if (!possible.has_value()) return usage_failure("check: " + possible.reason());
  }
  options.check.scope = query::scope_as_typed(options.selection);
  std::vector<compare::GateSpec> not_compared;
  if (options.allows_missing_baseline && is_missing(sides.before)) {
    sides.before.clear();
    not_compared = take_growth_limits(gates);
  }
  options.check.before = sides.before;
  options.check.after = sides.after;
  std::vector<compare::Pattern> patterns;
  for (const auto& spec : gates.specs) patterns.push_back(spec.pattern);
  auto collection = collect(
      sides,
      compare::Collector(query::kind_of(options.selection), options.grouping, std::move(patterns)),
      options.selection);
  if (!collection.has_value()) return collection.failure();
  return print_check(options, gates, collection->collected, std::move(not_compared));
}

void add_limits(CLI::App& verb, CheckArguments& options) {
  verb.add_option("--max-growth", options.max_growth,
                  "Maximum growth over the baseline, such as 5%")
      ->type_name("PERCENT");
  verb.add_option("--max-bytes", options.max_bytes, "Maximum bytes per run")->type_name("SIZE");
  verb.add_option("--budget", options.budget,
                  "File with limits per function, module or label (docs/ci.md)")
      ->type_name("FILE");
  verb.add_option("--ignore-below", options.ignore_below,
                  "Bytes by which a part may exceed its --max-growth\n"
                  "(default: 1% of the baseline's total)")
      ->type_name("SIZE");
  verb.add_flag("--allow-missing-baseline", options.allows_missing_baseline,
                "If there is no baseline, skip limits on growth and check only\n"
                "the others, as in a project's first pipeline");
  verb.add_option("--junit", options.junit, "Also write JUnit XML")->type_name("FILE");
}

}  // namespace

void register_check(CLI::App& app, Work& work) {
  auto options = std::make_shared<CheckArguments>();
  CLI::App* verb = app.add_subcommand("check", "Check limits on growth and bytes, for CI");
  add_side_options(*verb, options->runs,
                   "geiger check [limits] BASELINE RUN\n"
                   "       geiger check [limits] BASELINE... -- RUN...\n"
                   "       geiger check [limits without growth] [RUN]\n");
  verb->footer(
      "\nLimits apply to the total; with --by also to every function, stack, module or\n"
      "label.\n"
      "\nExit code: 0 all limits are met, 3 a limit is exceeded, 4 undecided (the report\n"
      "says what would decide), 1 unreadable input, 2 usage error. With\n"
      "--allow-missing-baseline also 0 if nothing was compared and no other limit is\n"
      "exceeded; the report says so. An answer is wrong with a probability of at most\n"
      "1 - level.\n");
  add_limits(*verb, *options);
  add_report_options(*verb, options->check.level, options->is_json);
  add_names_option(*verb);
  options->by = add_grouping_options(*verb, options->grouping, false);
  verb->add_option("--top", options->check.top, "Gates to list (default 30; 0: all)")
      ->type_name("N");
  add_selection_options(*verb, options->selection, query::Kinds::kWithMappings);
  add_frame_options(*verb, options->selection.frames);
  verb->callback([options, &work] { work = [options] { return run_check(*options); }; });
}

}  // namespace geiger::cli
