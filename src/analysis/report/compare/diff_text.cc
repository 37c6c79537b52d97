#include <fmt/format.h>

#include <algorithm>

#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/grid.h"
#include "analysis/present/heading.h"
#include "analysis/present/rows.h"
#include "analysis/present/text.h"
#include "analysis/present/unnamed.h"
#include "analysis/report/compare/diff.h"
#include "analysis/report/profiles/table.h"
#include "base/parts.h"

namespace geiger::report {
namespace {

using compare::Comparison;
using compare::ExactTotals;
using compare::SideFacts;

constexpr std::size_t kRunsNamed = 3;

std::string site_kind(const Comparison& comparison) {
  return std::string(name_of(comparison.collected.grouping.by));
}

std::string runs_text(const std::vector<std::string>& runs) {
  std::string text;
  for (std::size_t i = 0; i < std::min(runs.size(), kRunsNamed); ++i) {
    text += (i > 0 ? ", " : "") + present::printable(runs[i]);
  }
  if (runs.size() <= kRunsNamed) return text;
  return fmt::format("{} and {} more", text, present::exact_count(runs.size() - kRunsNamed));
}

std::string interval_text(const SideFacts& facts) {
  const auto bytes = [](double interval) {
    return present::exact_bytes(present::whole_number(interval));
  };
  if (facts.largest_interval <= 1) return "every allocation recorded";
  if (facts.smallest_interval == facts.largest_interval) {
    return fmt::format("interval {}", bytes(facts.largest_interval));
  }
  return fmt::format("intervals {} to {}", bytes(facts.smallest_interval),
                     bytes(facts.largest_interval));
}

std::string side_line(const char* name, const std::vector<std::string>& runs,
                      const SideFacts& facts, const std::string& run, const present::Style& style) {
  const std::string count =
      facts.runs.size() > 1 ? present::plural(facts.runs.size(), run.c_str()) + ", " : "";
  const std::string tail = fmt::format("  {}{}", count, interval_text(facts));
  const std::size_t room = style.width - std::min(style.width - 20, tail.size() + 10);
  return fmt::format("  {}  {}{}\n", present::paint(style, present::Role::kFaint, name),
                     present::elide(runs_text(runs), room),
                     present::paint(style, present::Role::kFaint, tail));
}

std::string heading(const DiffReport& report, const present::Style& style) {
  const Comparison& comparison = report.comparison;
  const bool has_several =
      comparison.collected.before.runs.size() + comparison.collected.after.runs.size() > 2;
  const std::string title = fmt::format(
      "Change of {}{}, by {}{}", present::bytes_of(report.options.scope, comparison.collected.kind),
      has_several ? " per " + report.options.per : "", site_kind(comparison),
      comparison.collected.grouping.is_inclusive ? ", callees included" : "");
  // Wrapped before it is painted: escapes take no columns. A break replaces a blank.
  const std::string text =
      present::wrap(fmt::format("{}: {} intervals", title, present::level_text(comparison.level)),
                    0, style.width);
  return present::paint(style, present::Role::kHeading, text.substr(0, title.size())) +
         text.substr(title.size()) + "\n" +
         side_line("before", report.options.before, comparison.collected.before, report.options.run,
                   style) +
         side_line("after ", report.options.after, comparison.collected.after, report.options.run,
                   style) +
         "\n";
}

present::Figure counted(double bytes, double unsettled) {
  return {present::exact_bytes(present::whole_number(bytes)),
          unsettled > 0 ? fmt::format("+ ≤ {}", present::bound_bytes(unsettled)) : ""};
}

std::vector<std::string> exact_cells(const ExactTotals& exact, bool has_growth) {
  const double change = exact.change();
  const estimation::Interval& interval = exact.interval;
  std::vector<std::string> cells{"counted"};
  present::append_figure(cells, counted(exact.before, exact.unsettled_before));
  present::append_figure(cells, counted(exact.after, exact.unsettled_after));
  present::append_figure(cells, present::change_figure(change, interval));
  if (!has_growth) return cells;
  if (!(exact.before > 0)) {
    present::append_figure(cells, {});
    return cells;
  }
  present::append_figure(
      cells, present::growth_figure(change / exact.before,
                                    {interval.lo / exact.before, interval.hi / exact.before}));
  return cells;
}

std::vector<std::string> estimated_cells(const Comparison& comparison, bool has_growth) {
  const compare::Row& total = comparison.total;
  std::vector<std::string> cells{"estimated"};
  present::append_figure(cells, present::figure(total.before, present::Quantity::kBytes));
  present::append_figure(cells, present::figure(total.after, present::Quantity::kBytes));
  present::append_figure(cells, present::change_figure(total.change.value, total.change.interval));
  if (has_growth) present::append_figure(cells, {});
  return cells;
}

present::Grid totals_grid(const Comparison& comparison, bool has_growth) {
  std::vector<present::Column> columns{{"", present::Align::kLeft, false}};
  present::append_figure_columns(columns, "before");
  present::append_figure_columns(columns, "after");
  present::append_figure_columns(columns, "change");
  if (has_growth) present::append_figure_columns(columns, "");
  present::Grid grid(std::move(columns), 2);
  if (comparison.exact) grid.add(exact_cells(*comparison.exact, has_growth));
  grid.add(estimated_cells(comparison, has_growth));
  return grid;
}

bool fits(std::string_view lines, std::size_t width) {
  while (!lines.empty()) {
    if (present::columns_of(base::take_part(lines)) > width) return false;
  }
  return true;
}

std::string totals_text(const Comparison& comparison, const present::Style& style) {
  present::Style plain = style;
  plain.has_color = false;
  const bool has_growth = fits(totals_grid(comparison, true).text(plain), style.width);
  return totals_grid(comparison, has_growth).text(style) + "\n";
}

std::string rows_text(const DiffReport& report, const present::Style& style) {
  const auto add = [&](present::Grid& grid, std::vector<std::string> cells, const DiffRow& row) {
    present::add_row(grid, std::move(cells), row.site().name, row.site().detail,
                     report.comparison.collected.grouping.by, style,
                     !compare::is_change(row.it.verdict));
  };
  return present::fitting_grid(rows_of(report), style, add, present::kLittleRoomBesideAll)
      .text(style);
}

std::string counted_sites(std::uint64_t count, const std::string& kind) {
  return present::plural(count, kind.c_str());
}

/// What the rows leave out, in one line; nothing if they are complete.
std::string left_out_text(const DiffReport& report) {
  const std::string kind = site_kind(report.comparison);
  const std::uint64_t eligible =
      report.changes + (report.options.shows_all ? report.noise + report.too_few : 0);
  std::string out;
  if (eligible > report.lines.size()) {
    out += fmt::format("{}; --top 0 shows them.\n",
                       counted_sites(eligible - report.lines.size(), "more " + kind));
  }
  if (report.options.shows_all || report.noise + report.too_few == 0) return out;
  std::string clause;
  if (report.noise > 0) {
    clause =
        fmt::format("{} by no more than noise", counted_sites(report.noise, kind) +
                                                    (report.noise == 1 ? " differs" : " differ"));
  }
  if (report.too_few > 0) {
    clause += fmt::format("{}{} too few samples to say", clause.empty() ? "" : ", ",
                          (report.noise > 0 ? present::exact_count(report.too_few)
                                            : counted_sites(report.too_few, kind)) +
                              (report.too_few == 1 ? " has" : " have"));
  }
  return out + clause + "; --all shows them.\n";
}

/// That no row changed, which is less than that nothing did.
std::string nothing_listed(const Comparison& comparison) {
  if (comparison.lacks_errors) return "No change can be shown.";
  const bool has_changed = comparison.exact && compare::is_change(comparison.exact->verdict);
  if (!has_changed) return "No change exceeds the noise.";
  return fmt::format("The total {}, as counted; which {} did is within the noise.",
                     name_of(comparison.exact->verdict), site_kind(comparison));
}

std::string reach_text(const Comparison& comparison) {
  if (!(comparison.detectable_new > 0)) return "";
  return fmt::format("Detectable with 80 % power: a new {} of {}, a change of the total by {}.\n",
                     site_kind(comparison), present::bound_bytes(comparison.detectable_new),
                     present::bound_bytes(comparison.total.change.detectable));
}

/// Explains the columns whose headings do not.
std::string legend(const DiffReport& report) {
  std::string out;
  if (report.options.shows_all && report.too_few > 0) out += "? has too few samples to say.\n";
  if (report.changes > 0) out += "q: expected share of false positives up to this row.\n";
  return out;
}

std::string unnamed_functions(const DiffReport& report, const present::Style& style) {
  const compare::Collected& collected = report.comparison.collected;
  if (!present::is_named_by_functions(collected.grouping.by)) return "";
  const auto name_of_line = [&](std::size_t line) -> const std::string& {
    return collected.sites[report.comparison.rows[line].site].name;
  };
  return present::unnamed_note(report.lines, name_of_line, style.width);
}

std::string footer(const DiffReport& report, const present::Style& style) {
  std::string out = left_out_text(report) + legend(report) + reach_text(report.comparison);
  out += unnamed_functions(report, style);
  for (const std::string& line : caveats(report.comparison)) out += line + "\n";
  return out.empty() ? out
                     : "\n" + present::paint(style, present::Role::kFaint,
                                             present::wrap_lines(out, style.width));
}

}  // namespace

std::string to_text(const DiffReport& report, const present::Style& style) {
  std::string out = heading(report, style) + totals_text(report.comparison, style);
  if (report.lines.empty()) {
    out += present::wrap(nothing_listed(report.comparison), 0, style.width) + "\n";
  } else {
    out += rows_text(report, style);
  }
  return out + footer(report, style) + text_of(report.options.scope.fleet, style);
}

}  // namespace geiger::report
