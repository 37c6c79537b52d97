#include "cli/options/gate_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "cli/options/exit_codes.h"
#include "cli/options/gate_file.h"
#include "cli/options/next_step.h"
#include "cli/options/output.h"
#include "cli/options/sides.h"
#include "query/ratio.h"
#include "query/sizes.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

using compare::Limit;
using compare::Measured;

/// The limits given as options: on the whole, and with --by on every site. A limit on
/// bytes is then one of the sites only; a growth that is spread over many of them, each
/// too small to count, must not pass.
void add_limit(compare::Gates& gates, const GateOptions& options, const Limit& limit,
               const char* source) {
  const bool has_sites = !options.by->empty();
  if (!has_sites || limit.measured == Measured::kGrowth) gates.specs.push_back({{}, limit, source});
  if (has_sites) gates.per_site.push_back({limit, source});
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

/// A limit is kept by what never ran: a mistyped name, tests that did not start.
void say_unseen(const compare::Verdicts& verdicts) {
  for (const compare::GateResult& result : verdicts.results) {
    if (!result.is_of_pattern || result.samples_after > 0) continue;
    const std::string what = result.is_of_label
                                 ? fmt::format("nothing was sampled within label '{}'", result.name)
                                 : fmt::format("no function '{}' was seen", result.name);
    terminal::complain(fmt::format("{}: {}; did it run?", result.source, what));
  }
}

}  // namespace

void add_gate_options(CLI::App& verb, GateOptions& options) {
  verb.add_option("--max-growth", options.max_growth,
                  "Maximum growth over the baseline, such as 5%")
      ->type_name("PERCENT");
  verb.add_option("--max-bytes", options.max_bytes, "Maximum bytes per run")->type_name("SIZE");
  verb.add_option("--budget", options.budget,
                  "File with limits per function, module or label (docs/guide/ci.md)")
      ->type_name("FILE");
  verb.add_flag(
      "--strict", options.is_strict,
      "Limits on functions, modules and labels that were not sampled\nare undecided: their names "
      "may be wrong");
  verb.add_option("--ignore-below", options.ignore_below,
                  "Bytes by which a part may exceed its --max-growth\n"
                  "(default: 1% of the baseline's total)")
      ->type_name("SIZE");
  verb.add_option("--junit", options.junit, "Also write JUnit XML")->type_name("FILE");
  options.by = add_grouping_options(verb, options.grouping, false);
  verb.add_option("--top", options.check.top, "Gates to list (default 30; 0: all)")->type_name("N");
}

base::Outcome<compare::Gates> gates_of(const GateOptions& options) {
  compare::Gates gates;
  gates.level = options.check.level;
  gates.is_strict = options.is_strict;
  if (!options.max_growth.empty()) {
    const auto growth = GEIGER_TRY(query::parse_growth(options.max_growth));
    add_limit(gates, options, {Measured::kGrowth, growth}, "--max-growth");
  }
  if (!options.max_bytes.empty()) {
    const auto bytes = GEIGER_TRY(query::parse_size(options.max_bytes));
    add_limit(gates, options, {Measured::kBytes, static_cast<double>(bytes)}, "--max-bytes");
  }
  if (!options.ignore_below.empty()) {
    const auto bytes = GEIGER_TRY(query::parse_size(options.ignore_below));
    gates.ignore_below = static_cast<double>(bytes);
  }
  if (!options.budget.empty()) {
    const auto budget = GEIGER_TRY(read_budget(options.budget));
    gates.specs.insert(gates.specs.end(), budget.begin(), budget.end());
  }
  if (gates.specs.empty() && gates.per_site.empty()) {
    return base::Failure{"no limit given: use --max-growth, --max-bytes or --budget"};
  }
  return gates;
}

std::vector<compare::Pattern> patterns_of(const compare::Gates& gates) {
  std::vector<compare::Pattern> patterns;
  for (const auto& spec : gates.specs) patterns.push_back(spec.pattern);
  return patterns;
}

base::Outcome<int> print_gates(const GateOptions& options, profile::Kind kind,
                               const compare::Gates& gates, const compare::Collected& collected,
                               std::vector<compare::GateSpec> not_compared) {
  GEIGER_TRY(compare::check_comparable(collected, gates));
  compare::Verdicts verdicts = compare::check(collected, gates);
  const report::CheckReport report{options.check,          std::move(verdicts), kind,
                                   options.grouping,       collected.before,    collected.after,
                                   std::move(not_compared)};
  say_unseen(report.verdicts);
  const present::Style style = terminal::output_style(options.check.level);
  const bool has_text = options.junit != "-";
  const bool is_printed = options.is_json
                              ? terminal::print_data(to_json(report))
                              : !has_text || terminal::print_report(to_text(report, style), style);
  GEIGER_TRY(write_junit(report, options.junit));
  if (!is_printed) return kExitFailed;
  const bool has_failed = report.verdicts.answer == compare::Answer::kFail;
  if (has_failed && has_text && !options.is_json && !report.options.before.empty())
    suggest("diff", words_of({report.options.before, report.options.after}));
  return exit_code_of(report.verdicts.answer);
}

}  // namespace geiger::cli
