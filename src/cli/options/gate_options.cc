#include "cli/options/gate_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "analysis/profile/frames/labels.h"
#include "analysis/profile/select/patterns.h"
#include "cli/options/ending.h"
#include "cli/options/output.h"
#include "cli/options/parsed_option.h"
#include "cli/options/sides.h"
#include "query/text_file.h"
#include "query/words.h"
#include "terminal/terminal.h"

namespace geiger::cli {

namespace {

using compare::GateSpec;
using compare::Limit;
using compare::Measured;
using profile::kBlank;
using profile::trimmed;
using Specs = std::vector<GateSpec>;

/// Cuts the first word off.
std::string_view next_word(std::string_view& text) {
  text = trimmed(text);
  const std::string_view word = text.substr(0, text.find_first_of(kBlank));
  text = trimmed(text.substr(word.size()));
  return word;
}

base::Outcome<Limit> parse_limit(std::string_view kind, std::string_view value) {
  if (kind == "max-growth") {
    const auto growth = GEIGER_TRY(query::parse_growth(value));
    return Limit{Measured::kGrowth, growth};
  }
  if (kind == "max-bytes") {
    const auto bytes = GEIGER_TRY(query::parse_size(value));
    return Limit{Measured::kBytes, static_cast<double>(bytes)};
  }
  return base::Failure{
      fmt::format("unknown limit {} (choose from max-growth, max-bytes)", profile::quoted(kind))};
}

/// "FUNCTION", "FUNCTION in MODULE" or "label TEXT"; names and texts may hold blanks.
compare::Pattern parse_pattern(std::string_view text) {
  constexpr std::string_view kLabel = "label ";
  if (text.starts_with(kLabel)) {
    return {
        .function = "*", .module = "*", .label = std::string(trimmed(text.substr(kLabel.size())))};
  }
  constexpr std::string_view kIn = " in ";
  const std::size_t in = text.rfind(kIn);
  if (in == std::string_view::npos) return {.function = std::string(text), .module = "*"};
  return {.function = std::string(trimmed(text.substr(0, in))),
          .module = std::string(trimmed(text.substr(in + kIn.size())))};
}

/// A first word that no function begins with is a slip: "lable x", "function parse". Names of
/// functions may hold blanks, but their first words are types or "operator".
base::Outcome<void> check_first_word(std::string_view text) {
  const std::size_t end = text.find_first_of(kBlank);
  const std::string word(text.substr(0, end));
  if (end == std::string_view::npos || word == "label") return {};
  if (word == "function") return base::Failure{"name a function without the word 'function'"};
  if (word == "module") return base::Failure{"name a module as '* in MODULE'"};
  const bool is_word =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:") ==
      std::string::npos;
  const std::string meant = is_word ? query::did_you_mean(word, {"label"}) : "";
  if (!meant.empty()) return base::Failure{fmt::format("unknown word '{}'{}", word, meant)};
  return {};
}

base::Outcome<GateSpec> parse_line(std::string_view line) {
  const std::string_view kind = next_word(line);
  const std::string_view value = next_word(line);
  if (value.empty()) return base::Failure{"a limit needs a value and a function"};
  const auto limit = GEIGER_TRY(parse_limit(kind, value));
  if (line.empty()) return base::Failure{"no function given (* matches all)"};
  GEIGER_TRY(check_first_word(line));
  return GateSpec{parse_pattern(line), limit, {}};
}

}  // namespace

base::Outcome<Specs> parse_budget(std::string_view text, const std::string& path) {
  Specs specs;
  const auto take = [&](std::string_view line, std::size_t number) -> base::Outcome<void> {
    auto spec = GEIGER_TRY(parse_line(line));
    spec.source = fmt::format("{}:{}", profile::file_name_of(path), number);
    specs.push_back(std::move(spec));
    return {};
  };
  GEIGER_TRY(profile::read_lines(text, take).with_prefix(path + ":"));
  if (specs.empty()) return base::Failure{path + ": contains no limits"};
  return specs;
}

base::Outcome<Specs> read_budget(const std::string& path) {
  const auto text = GEIGER_TRY(query::read_text_file(path));
  return parse_budget(text, path);
}

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
  add_number(verb, "--top", "N", options.check.top, "Gates to list (default 30; 0: all)");
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
