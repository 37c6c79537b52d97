#include "cli/options/sides.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>

#include "analysis/profile/memory/measured.h"
#include "cli/help/command_line.h"
#include "cli/help/help_formatter.h"
#include "cli/options/ending.h"
#include "cli/options/input.h"
#include "cli/options/parsed_option.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

base::Outcome<void> add_run(const std::string& run, compare::Which which,
                            const query::SelectionOptions& selection,
                            std::vector<compare::Collector>& collectors, bool& is_damaged) {
  ReadOptions options;
  options.runs = {run};
  options.frames = selection.frames;
  const auto input = read_input(options);
  if (!input.has_value()) return input.failure();
  is_damaged = is_damaged || input->ingested.damaged;
  const auto subject = query::subject_of(selection, input->recording());
  if (!subject.has_value()) return usage_failure(run + ": " + subject.reason());
  for (const std::string& remark : subject->remarks) terminal::complain(remark);
  const profile::Profile profile = profile::select(input->recording(), subject->selection);
  for (compare::Collector& collector : collectors) {
    const auto error = collector.add(which, input->recording(), profile);
    if (!error) continue;
    const bool is_live_only = profile::tells_live_only(input->recording());
    return base::Failure{
        fmt::format("{}: {}{}", run, compare::text_of(*error),
                    is_live_only ? "; it contains only live memory: use --kind live" : "")};
  }
  return {};
}

}  // namespace

void add_side_options(CLI::App& verb, std::vector<std::string>& words, const std::string& usage) {
  verb.formatter(std::make_shared<UsageFormatter>(usage));
  verb.add_option("RUN", words, "Run directories or trace files; -- separates the two sides")
      ->type_name("");
}

CLI::Option* add_grouping_options(CLI::App& verb, compare::Grouping& grouping, bool has_lines) {
  Choices<profile::GroupBy> groups{{"function", profile::GroupBy::kFunction},
                                   {"stack", profile::GroupBy::kStack},
                                   {"module", profile::GroupBy::kModule},
                                   {"label", profile::GroupBy::kLabel}};
  if (has_lines) groups.insert(groups.begin() + 1, {"line", profile::GroupBy::kLine});
  CLI::Option* by =
      add_choice(verb, "--by", "GROUP",
                 has_lines ? "function (default), line, stack, module or label"
                           : "function (default), stack, module or label",
                 groups, [&grouping](profile::GroupBy group) { grouping.by = group; });
  verb.add_flag(
      "--inclusive", grouping.is_inclusive,
      "Include the functions that a function or module calls, and the\nlabels inside a label");
  return by;
}

std::vector<std::string> words_of(const Sides& sides) {
  std::vector<std::string> words = sides.before;
  const bool needs_divider = sides.before.size() != 1 || sides.after.size() != 1;
  if (needs_divider) words.emplace_back("--");
  words.insert(words.end(), sides.after.begin(), sides.after.end());
  return words;
}

base::Outcome<Sides> sides_of(const std::vector<std::string>& words, bool needs_before) {
  const auto divider = std::ranges::find(words, kDivider);
  if (divider != words.end()) {
    Sides sides{{words.begin(), divider}, {divider + 1, words.end()}};
    if (std::ranges::find(sides.after, kDivider) != sides.after.end()) {
      return base::Failure{"more than one --: there are only two sides"};
    }
    if (sides.after.empty()) return base::Failure{"no run after --"};
    if (sides.before.empty() && needs_before) return base::Failure{"no run before --"};
    return sides;
  }
  if (words.size() == 2) return Sides{{words[0]}, {words[1]}};
  if (words.size() == 1 && !needs_before) return Sides{{}, words};
  if (words.size() < 2) return base::Failure{"give two runs: one before, one after"};
  return base::Failure{"more than two runs: put -- between the sides"};
}

base::Outcome<Collections> collect_all(const Sides& sides,
                                       std::vector<compare::Collector> collectors,
                                       const query::SelectionOptions& selection) {
  Collections all;
  terminal::Progress progress("reading runs");
  const std::size_t count = sides.before.size() + sides.after.size();
  std::size_t done = 0;
  for (const compare::Which which : compare::kBoth) {
    const auto& runs = which == compare::Which::kBefore ? sides.before : sides.after;
    for (const std::string& run : runs) {
      const auto added = add_run(run, which, selection, collectors, all.is_damaged);
      if (!added.has_value()) return added.failure();
      progress.update(++done, count);
    }
  }
  for (compare::Collector& collector : collectors) all.collected.push_back(collector.finish());
  return all;
}

base::Outcome<Collection> collect(const Sides& sides, compare::Collector collector,
                                  const query::SelectionOptions& selection) {
  std::vector<compare::Collector> one;
  one.push_back(std::move(collector));
  auto all = collect_all(sides, std::move(one), selection);
  if (!all.has_value()) return all.failure();
  return Collection{std::move(all->collected.front()), all->is_damaged};
}

}  // namespace geiger::cli
