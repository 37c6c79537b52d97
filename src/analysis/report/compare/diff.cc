#include "analysis/report/compare/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/present/format.h"
#include "analysis/present/heading.h"

namespace geiger::report {
namespace {

using compare::Comparison;
using compare::Verdict;

/// Sites are in order of their names, so their numbers stand for these.
bool comes_first(const compare::Row& a, const compare::Row& b, DiffSort sort) {
  switch (sort) {
    case DiffSort::kChange:
      return false;  // As compared: changes first, then by size.
    case DiffSort::kBefore:
      return a.before.value > b.before.value;
    case DiffSort::kAfter:
      return a.after.value > b.after.value;
    case DiffSort::kName:
      return a.site < b.site;
  }
  return false;
}

std::uint64_t dropped(const compare::SideFacts& facts) {
  return std::accumulate(
      facts.runs.begin(), facts.runs.end(), std::uint64_t{0},
      [](std::uint64_t sum, const compare::RunFacts& run) { return sum + run.dropped; });
}

}  // namespace

DiffReport diff_report(Comparison comparison, const DiffOptions& options) {
  DiffReport report{options, std::move(comparison), {}, 0, 0, 0};
  const std::vector<compare::Row>& rows = report.comparison.rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Verdict verdict = rows[i].verdict;
    const bool is_change = compare::is_change(verdict);
    if (is_change || options.shows_all) report.lines.push_back(i);
    ++(is_change ? report.changes : verdict == Verdict::kNoise ? report.noise : report.too_few);
  }
  std::ranges::stable_sort(report.lines, [&](std::size_t a, std::size_t b) {
    return comes_first(rows[a], rows[b], options.sort);
  });
  if (options.top != 0 && report.lines.size() > options.top) report.lines.resize(options.top);
  return report;
}

namespace {

/// What the sampling alone would call a change and the runs do not: too few runs show little of how
/// much they differ, so "no change" cannot be concluded.
std::string undecided_by_runs(const Comparison& comparison) {
  const double alpha = 1 - comparison.level;
  const auto is_open = [&](const compare::Change& change) {
    return change.sampling_p <= alpha && change.p_value > alpha;
  };
  const auto sites = static_cast<std::uint64_t>(std::ranges::count_if(
      comparison.rows, [&](const compare::Row& row) { return is_open(row.change); }));
  const compare::Change& total = comparison.total.change;
  if (sites == 0 && !is_open(total)) return "";
  std::string out = "Undecided: judged by the sampling error alone, ";
  if (is_open(total))
    out += fmt::format("the total changed ({})", present::p_equation(total.sampling_p));
  if (sites > 0) {
    out += fmt::format("{}{} did", is_open(total) ? ", and " : "", present::plural(sites, "row"));
  }
  out += "; with so few runs, run-to-run variation is not known well enough.";
  std::uint64_t runs = total.runs_to_find;
  for (const compare::Row& row : comparison.rows) {
    if (runs == 0 && is_open(row.change)) runs = row.change.runs_to_find;
  }
  if (runs > 0) out += fmt::format(" About {} runs per side would decide.", runs);
  return out;
}

/// Functions that lost lines and have new ones.
std::size_t moved_functions(const Comparison& comparison) {
  if (comparison.collected.grouping.by != profile::GroupBy::kLine) return 0;
  using Function = std::pair<std::string_view, std::string_view>;
  std::set<Function> gone, moved;
  const auto function_of = [&](const compare::Row& row) -> Function {
    const compare::Site& site = comparison.collected.sites[row.site];
    return {site.name, site.detail};
  };
  for (const compare::Row& row : comparison.rows) {
    if (row.verdict == Verdict::kGone) gone.insert(function_of(row));
  }
  for (const compare::Row& row : comparison.rows) {
    const bool is_back = row.verdict == Verdict::kNew && gone.contains(function_of(row));
    if (is_back) moved.insert(function_of(row));
  }
  return moved.size();
}

}  // namespace

std::vector<std::string> caveats(const Comparison& comparison) {
  std::vector<std::string> lines;
  if (const std::size_t moved = moved_functions(comparison); moved > 0) {
    lines.push_back(fmt::format(
        "{} with both new lines and lines that are gone: lines are matched by number, so code that "
        "moved between the builds is compared with other code. --by function avoids this.",
        present::plural(moved, "function")));
  }
  if (std::string open = undecided_by_runs(comparison); !open.empty()) {
    lines.push_back(std::move(open));
  }
  const compare::Collected& collected = comparison.collected;
  for (const compare::SideFacts* side : {&collected.before, &collected.after}) {
    const std::string lacks = side->missing_part();
    if (!lacks.empty()) lines.push_back(present::incomplete_text(lacks));
  }
  const double cut = std::max(collected.before.total.cut.all_bytes() / collected.before.exposure(),
                              collected.after.total.cut.all_bytes() / collected.after.exposure());
  if (std::string note = present::cut_note(
          cut, collected.before.has_stacks_at_limit() || collected.after.has_stacks_at_limit());
      !note.empty()) {
    note.pop_back();
    lines.push_back(std::move(note));
  }
  if (comparison.lacks_errors) {
    lines.emplace_back(
        "Undecided: a profile does not contain its errors, so changes cannot be distinguished from "
        "sampling error.");
  } else if (collected.after.shares_process) {
    lines.emplace_back(
        "Both sides are recordings of one process: objects that both have cancel out, and the "
        "intervals of changes include the sampling error of the others.");
  } else if (!comparison.run_deviation) {
    lines.emplace_back(
        "One run per side: the intervals include the sampling error, not run-to-run variation. "
        "Several runs per side include both.");
  } else if (*comparison.run_deviation > 0) {
    lines.push_back(fmt::format("Runs typically differ by {:.2g} %; the intervals include this.",
                                100 * *comparison.run_deviation));
  } else {
    lines.emplace_back("Runs of one side differ by no more than the sampling error.");
  }
  if (comparison.strata > 0) {
    lines.push_back(fmt::format(
        "Compared within {}; {} of what both sides have is in them.",
        comparison.strata == 1 ? "1 stratum" : fmt::format("{} strata", comparison.strata),
        present::figure(
            present::Share{comparison.matched, {comparison.matched, comparison.matched}})
            .text()));
  }
  if (collected.before.is_split || collected.after.is_split) {
    std::string note = present::split_note();
    note.pop_back();
    lines.push_back(std::move(note));
  }
  if (const std::uint64_t lost = dropped(collected.before) + dropped(collected.after); lost > 0) {
    lines.push_back(fmt::format("{} could not be recorded; see 'geiger summary'.",
                                present::plural(lost, "sample or free")));
  }
  return lines;
}

}  // namespace geiger::report
