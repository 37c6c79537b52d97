#include "analysis/report/compare/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/grid.h"
#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/report/profiles/table.h"
#include "base/text.h"

namespace geiger::present {

using compare::Change;
using compare::ExactTotals;
using compare::Place;

static const Fields<Place>& fields_of(Of<Place> /*type*/) {
  static const auto kFields = Fields<Place>("place")
                                  .field("function", "", &Place::name)
                                  .field("module", "", &Place::module);
  return kFields;
}

static const Fields<Change>& fields_of(Of<Change> /*type*/) {
  static const auto kFields =
      Fields<Change>("change", "After minus before, in bytes per run.")
          .field("value", "", &Change::value)
          .field("lo", "", [](const Change& it) { return it.interval.lo; })
          .or_null()
          .field("hi", "", [](const Change& it) { return it.interval.hi; })
          .or_null()
          .field("certain", "bytes that both sides recorded with certainty", &Change::certain)
          .field("p", "of \"the same bytes\", two-sided", &Change::p_value)
          .or_null()
          .field("q", "`p` adjusted for the number of sites", &Change::q_value)
          .or_null()
          .field("detectable", "the smallest growth that is detected with 80 % power",
                 &Change::detectable)
          .or_null()
          .field("dispersion", "the variance over that of the sampling alone", &Change::dispersion)
          .or_null()
          .field("sampling_p", "`p` if runs of a side differed by nothing but the sampling error",
                 &Change::sampling_p)
          .or_null()
          .field("runs_to_find",
                 "where `sampling_p` is significant and `p` is not: about how many runs per side "
                 "would find the change; else 0",
                 &Change::runs_to_find);
  return kFields;
}

static const Fields<ExactTotals>& fields_of(Of<ExactTotals> /*type*/) {
  static const auto kFields =
      Fields<ExactTotals>()
          .field("before", "counted bytes per run", &ExactTotals::before)
          .field("after", "counted bytes per run", &ExactTotals::after)
          .field("change", "", &ExactTotals::change)
          .field("unsettled_before", "at most so many bytes more", &ExactTotals::unsettled_before)
          .field("unsettled_after", "at most so many bytes more", &ExactTotals::unsettled_after)
          .field("lo", "of the change, with what runs differ by if a side has several",
                 [](const ExactTotals& it) { return it.interval.lo; })
          .field("hi", "", [](const ExactTotals& it) { return it.interval.hi; })
          .field("p", "", &ExactTotals::p_value)
          .field("verdict", "", [](const ExactTotals& it) { return name_of(it.verdict); })
          .one_of({"grew", "shrank", "noise", "too few samples"});
  return kFields;
}

}  // namespace geiger::present

namespace geiger::report {

namespace {

using compare::Comparison;
using compare::SideFacts;
using compare::Verdict;
using present::Fields;
using present::Of;
using profile::GroupBy;

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
  DiffReport report{options, std::move(comparison), {}, {}, 0, 0, 0};
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

/// By what share of its larger side a total changed; 0 where that may be chance.
double changed_share(const KindTotal& it) {
  if (!compare::is_change(it.verdict())) return 0;
  const double before = it.exact ? it.exact->before : it.total.before.value;
  const double after = it.exact ? it.exact->after : it.total.after.value;
  return std::abs(after - before) / std::max({before, after, 1.0});
}

}  // namespace

DiffReport diff_of_most_changed(std::vector<Comparison> comparisons, const DiffOptions& options) {
  std::vector<KindTotal> kinds;
  for (const Comparison& each : comparisons) {
    kinds.push_back({each.collected.kind, each.total, each.exact});
  }
  std::size_t most = kinds.size() - 1;
  for (std::size_t i = most; i-- > 0;) {
    if (changed_share(kinds[i]) > changed_share(kinds[most])) most = i;
  }
  DiffReport report = diff_report(std::move(comparisons[most]), options);
  if (kinds.size() > 1) report.kinds = std::move(kinds);
  return report;
}

namespace {

/// What the sampling alone would call a change and the runs do not: too few runs show little of how
/// much they differ, so "no change" cannot be concluded.
std::string undecided_by_runs(const Comparison& comparison, const std::string& run) {
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
  out += fmt::format("; with so few {0}s, {0}-to-{0} variation is not known well enough.", run);
  std::uint64_t runs = total.runs_to_find;
  for (const compare::Row& row : comparison.rows) {
    if (runs == 0 && is_open(row.change)) runs = row.change.runs_to_find;
  }
  if (runs > 0) out += fmt::format(" About {} {}s per side would decide.", runs, run);
  return out;
}

/// Functions with lines that only one side has, of either side.
std::size_t moved_functions(const Comparison& comparison) {
  if (comparison.collected.grouping.by != profile::GroupBy::kLine) return 0;
  using Function = std::pair<std::string_view, std::string_view>;
  std::set<Function> gone, moved;
  const auto function_of = [&](const compare::Row& row) -> Function {
    const compare::Site& site = comparison.collected.sites[row.site];
    return {site.name, site.detail};
  };
  for (const compare::Row& row : comparison.rows) {
    const bool is_gone = row.verdict == Verdict::kGone || row.verdict == Verdict::kNotSeen;
    if (is_gone) gone.insert(function_of(row));
  }
  for (const compare::Row& row : comparison.rows) {
    const bool is_new = row.verdict == Verdict::kNew || row.verdict == Verdict::kFirstSeen;
    if (is_new && gone.contains(function_of(row))) moved.insert(function_of(row));
  }
  return moved.size();
}

/// What a row and the whole have in common.
struct SidesOf {
  const compare::Row& it;
};

const Fields<SidesOf>& fields_of(Of<SidesOf> /*type*/) {
  static const auto kFields =
      Fields<SidesOf>("sides")
          .field("verdict", "", [](const compare::Row& it) { return name_of(it.verdict); })
          .one_of(present::texts_of<Verdict>([](Verdict verdict) { return name_of(verdict); }))
          .field("before", "", &compare::Row::before)
          .field("after", "", &compare::Row::after)
          .field("change", "", &compare::Row::change);
  return kFields;
}

GroupBy grouping_of(const DiffRow& row) { return row.report.comparison.collected.grouping.by; }

bool is_too_few(const DiffRow& row) { return row.it.verdict == Verdict::kTooFew; }

bool has_lines(const DiffReport& report) {
  return std::ranges::any_of(rows_of(report),
                             [](const DiffRow& row) { return !row.site().where.file.empty(); });
}

/// Of a row that is a stack.
std::optional<std::vector<compare::Place>> places_of(const DiffRow& row) {
  if (grouping_of(row) != GroupBy::kStack) return std::nullopt;
  std::vector<compare::Place> places;
  for (const std::uint32_t place : row.site().places) {
    places.push_back(row.report.comparison.collected.places[place]);
  }
  return places;
}

}  // namespace

std::vector<std::string> caveats(const DiffReport& report) {
  const Comparison& comparison = report.comparison;
  const std::string& run = report.options.run;
  std::vector<std::string> lines;
  if (const std::size_t moved = moved_functions(comparison); moved > 0) {
    lines.push_back(fmt::format(
        "{} with lines seen only before and lines seen only after: lines are matched by number, so "
        "code that moved between the builds is compared with other code. --by function avoids "
        "this.",
        present::plural(moved, "function")));
  }
  if (std::string open = undecided_by_runs(comparison, run); !open.empty()) {
    lines.push_back(std::move(open));
  }
  const compare::Collected& collected = comparison.collected;
  for (const compare::SideFacts* side : {&collected.before, &collected.after}) {
    const std::string lacks = side->missing_part();
    if (!lacks.empty()) lines.push_back(present::incomplete_text(lacks));
  }
  const double cut = std::max(collected.before.total.cut.all_bytes() / collected.before.exposure(),
                              collected.after.total.cut.all_bytes() / collected.after.exposure());
  const bool is_of_types = collected.grouping.by == GroupBy::kType;
  const bool is_of_holders = collected.grouping.by == GroupBy::kHolder;
  if ((is_of_types || is_of_holders) && cut > 0) {
    lines.push_back(fmt::format("Limits of {} include {} of objects {}.",
                                is_of_types ? "types" : "holders", present::bound_bytes(cut),
                                is_of_types ? "of unknown type" : "of which no scan decided"));
  } else if (std::string note = present::cut_note(cut, collected.before.has_stacks_at_limit() ||
                                                           collected.after.has_stacks_at_limit());
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
    lines.push_back(fmt::format(
        "One {0} per side: the intervals include the sampling error, not {0}-to-{0} variation. "
        "Several {0}s per side include both.",
        run));
  } else if (*comparison.run_deviation > 0) {
    lines.push_back(present::as_sentence(
        fmt::format("{}s typically differ by {:.2g} %; the intervals include this", run,
                    100 * *comparison.run_deviation)));
  } else {
    lines.push_back(present::as_sentence(
        fmt::format("{}s of one side differ by no more than the sampling error", run)));
  }
  if (const auto& load = report.options.load_deviation) {
    lines.push_back(fmt::format(
        "Hosts differ in load, by {:.2g} %: --per load takes that out, and finds smaller changes.",
        100 * *load));
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

std::vector<DiffRow> rows_of(const DiffReport& report) {
  std::vector<DiffRow> rows;
  for (const std::size_t line : report.lines)
    rows.push_back({report.comparison.rows[line], report});
  return rows;
}

const Fields<KindTotal>& fields_of(Of<KindTotal> /*type*/) {
  static const auto kFields = Fields<KindTotal>("kind_total")
                                  .field("kind", "", &KindTotal::kind)
                                  .inlined([](const KindTotal& it) { return SidesOf{it.total}; })
                                  .field("exact", "as it was counted", &KindTotal::exact);
  return kFields;
}

const Fields<SideOf>& fields_of(Of<SideOf> /*type*/) {
  static const auto kFields =
      Fields<SideOf>("side", "The runs of one side.")
          .field("runs", "as named", [](const SideOf& it) { return std::span(it.runs); })
          .field("run_count", "", [](const SideFacts& it) { return it.runs.size(); })
          .field("least_interval", "in force, in bytes",
                 [](const SideFacts& it) { return present::whole_number(it.smallest_interval); })
          .field("most_interval", "in force, in bytes",
                 [](const SideFacts& it) { return present::whole_number(it.largest_interval); })
          .field("shares_process",
                 "the other side is a recording of the same process: samples that both have cancel "
                 "out",
                 &SideFacts::shares_process);
  return kFields;
}

const Fields<DiffRow>& fields_of(Of<DiffRow> /*type*/) {
  using present::Cells;
  using present::kStays;
  using present::Quantity;
  static const auto kFields =
      Fields<DiffRow>("diff_row")
          .inlined([](const DiffRow& row) {
            return present::Named{row.site().name,
                                  present::is_named_by_functions(grouping_of(row))};
          })
          .field("detail", "as rows of `table` have it",
                 [](const DiffRow& row) { return row.site().detail; })
          .inlined([](const DiffRow& row) { return row.site().where; })
          .only_column(
              Cells::kNumber, "", kStays,
              [](const DiffRow& row) { return is_too_few(row) ? "?" : name_of(row.it.verdict); })
          .only_column(Cells::kFigure, "change", kStays,
                       [](const DiffRow& row) {
                         return present::change_figure(row.it.change.value, row.it.change.interval);
                       })
          .only_column(
              Cells::kFigure, "before", 2,
              [](const DiffRow& row) { return present::figure(row.it.before, Quantity::kBytes); })
          .only_column(
              Cells::kFigure, "after", 1,
              [](const DiffRow& row) { return present::figure(row.it.after, Quantity::kBytes); })
          .only_column(Cells::kNumber, "q", kStays,
                       [](const DiffRow& row) {
                         return is_too_few(row) ? "-" : present::probability(row.it.change.q_value);
                       })
          .only_column(
              Cells::kNumber, "detectable", 3,
              [](const DiffRow& row) { return present::bound_bytes(row.it.change.detectable); })
          .only_column(
              Cells::kName,
              [](const DiffRow& row) {
                return grouping_of(row) == GroupBy::kLine ? "function" : name_of(grouping_of(row));
              },
              kStays, [](const DiffRow& row) { return present::printable(row.site().name); })
          .only_column(
              Cells::kText, "where",
              [](const DiffRow& row) { return has_lines(row.report) ? kStays : present::kAbsent; },
              [](const DiffRow& row) { return present::printable(text_of(row.site().where)); })
          .inlined([](const DiffRow& row) { return SidesOf{row.it}; })
          .field("stack", "leaf first", &places_of);
  return kFields;
}

const Fields<DiffReport>& fields_of(Of<DiffReport> /*type*/) {
  const auto of = [](auto Comparison::*member) {
    return [member](const DiffReport& it) { return it.comparison.*member; };
  };
  const auto of_strata = [](auto Comparison::*member) {
    return [member](const DiffReport& it) {
      return present::if_true(it.comparison.strata > 0, it.comparison.*member);
    };
  };
  static const auto kFields =
      Fields<DiffReport>("diff", "Bytes are per run.")
          .field("kind", "what is compared",
                 [](const DiffReport& it) { return it.comparison.collected.kind; })
          .field("by", "what a row is of",
                 [](const DiffReport& it) { return it.comparison.collected.grouping.by; })
          .one_of({"function", "line", "stack", "module", "label", "type", "holder"})
          .field("is_inclusive", "with all that it called",
                 [](const DiffReport& it) { return it.comparison.collected.grouping.is_inclusive; })
          .field("level", "confidence level of all intervals", of(&Comparison::level))
          .inlined([](const DiffReport& it) { return it.options.scope; })
          .field("before", "",
                 [](const DiffReport& it) {
                   return SideOf{it.comparison.collected.before, it.options.before};
                 })
          .field("after", "",
                 [](const DiffReport& it) {
                   return SideOf{it.comparison.collected.after, it.options.after};
                 })
          .field("total", "the whole, estimated",
                 [](const DiffReport& it) { return SidesOf{it.comparison.total}; })
          .field("exact", "the whole as it was counted, of kind `allocated`",
                 of(&Comparison::exact))
          .field("kinds", "the totals of the kinds compared, where none was asked for",
                 [](const DiffReport& it) {
                   return present::if_true(!it.kinds.empty(), std::span(it.kinds));
                 })
          .field("is_sampling_only",
                 "one run per side: intervals do not include variation between runs",
                 [](const DiffReport& it) { return !it.comparison.run_deviation.has_value(); })
          .field("run_deviation",
                 "typical relative standard deviation of a site from run to run, without the "
                 "sampling error; 0 if none is visible",
                 [](const DiffReport& it) { return it.comparison.run_deviation.value_or(0); })
          .field("load_deviation",
                 "of hosts that differ in load, without `--per load`: its relative standard "
                 "deviation from host to host",
                 [](const DiffReport& it) { return it.options.load_deviation; })
          .field("detectable_new", "smallest new site that is detected with 80 % power, in bytes",
                 of(&Comparison::detectable_new))
          .field("tested", "sites whose samples could have shown a difference",
                 of(&Comparison::tested))
          .field("row_count", "all sites",
                 [](const DiffReport& it) { return it.comparison.rows.size(); })
          .field("changes", "sites that changed", &DiffReport::changes)
          .field("noise", "sites whose difference may be chance", &DiffReport::noise)
          .field("too_few", "sites with too few samples to say", &DiffReport::too_few)
          .field("strata", "with `--match`: those that both sides have",
                 of_strata(&Comparison::strata))
          .field("matched", "with `--match`: the share of both sides' exposure that is in them",
                 of_strata(&Comparison::matched))
          .field("advice", "of two whole runs: what `advise` says of the run before",
                 [](const DiffReport& it) {
                   return present::if_true(!it.options.advice.empty(),
                                           std::span(it.options.advice));
                 })
          .field("rows", "in the order of `--sort`; with `--all` those without change too",
                 [](const DiffReport& it) { return rows_of(it); })
          .field("caveats", "sentences", [](const DiffReport& it) { return caveats(it); });
  return kFields;
}

std::string to_json(const DiffReport& report) { return present::document("diff", report); }

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

bool has_several_processes(const SideFacts& facts) {
  return std::ranges::any_of(facts.runs, [](const auto& run) { return run.processes > 1; });
}

std::string heading(const DiffReport& report, const present::Style& style) {
  const Comparison& comparison = report.comparison;
  const bool has_several =
      comparison.collected.before.runs.size() + comparison.collected.after.runs.size() > 2;
  // As sides are collected: what a process held, though others went on.
  const bool is_of_each = comparison.collected.kind == profile::Kind::kLiveAtEnd &&
                          report.options.scope.when.empty() &&
                          (has_several_processes(comparison.collected.before) ||
                           has_several_processes(comparison.collected.after));
  const std::string title =
      fmt::format("Change of {}{}{}, by {}{}",
                  present::bytes_of(report.options.scope, comparison.collected.kind),
                  is_of_each ? " of each process" : "",
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

std::vector<std::string> exact_cells(std::string_view name, const ExactTotals& exact,
                                     bool has_growth) {
  const double change = exact.change();
  const estimation::Interval& interval = exact.interval;
  std::vector<std::string> cells{std::string(name)};
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

std::vector<std::string> estimated_cells(std::string_view name, const compare::Row& total,
                                         bool has_growth) {
  std::vector<std::string> cells{std::string(name)};
  present::append_figure(cells, present::figure(total.before, present::Quantity::kBytes));
  present::append_figure(cells, present::figure(total.after, present::Quantity::kBytes));
  present::append_figure(cells, present::change_figure(total.change.value, total.change.interval));
  if (has_growth) present::append_figure(cells, {});
  return cells;
}

/// A line of cells for each total.
std::vector<std::vector<std::string>> totals_of(const DiffReport& report, bool has_growth) {
  const Comparison& comparison = report.comparison;
  std::vector<std::vector<std::string>> lines;
  for (const KindTotal& it : report.kinds) {
    lines.push_back(it.exact ? exact_cells(name_of(it.kind), *it.exact, has_growth)
                             : estimated_cells(name_of(it.kind), it.total, has_growth));
    lines.back().emplace_back(compare::is_change(it.verdict()) ? name_of(it.verdict())
                                                               : "no change shown");
  }
  if (!lines.empty()) return lines;
  if (comparison.exact) lines.push_back(exact_cells("counted", *comparison.exact, has_growth));
  lines.push_back(estimated_cells("estimated", comparison.total, has_growth));
  return lines;
}

present::Grid totals_grid(const DiffReport& report, bool has_growth) {
  std::vector<present::Column> columns{{"", present::Align::kLeft, false}};
  present::append_figure_columns(columns, "before");
  present::append_figure_columns(columns, "after");
  present::append_figure_columns(columns, "change");
  if (has_growth) present::append_figure_columns(columns, "");
  if (!report.kinds.empty()) columns.push_back({"", present::Align::kLeft, false});
  present::Grid grid(std::move(columns), 2);
  for (auto& cells : totals_of(report, has_growth)) grid.add(std::move(cells));
  return grid;
}

/// Where the columns do not fit: "live  24.5 MiB ± 3.6, then 21.7 MiB ± 2.7: -2.8 MiB ± 4.3".
std::string totals_in_words(const DiffReport& report, const present::Style& style) {
  constexpr std::size_t kNameColumns = 9, kTextFrom = 2 + kNameColumns + 2;
  const auto figure = [](const std::vector<std::string>& cells, std::size_t at) {
    return present::Figure{cells[at], cells[at + 1]}.text();
  };
  std::string out;
  for (const std::vector<std::string>& cells : totals_of(report, false)) {
    const std::string text = fmt::format("{}, then {}: {}{}", figure(cells, 1), figure(cells, 3),
                                         figure(cells, 5), cells.size() > 7 ? ", " + cells[7] : "");
    out += fmt::format("  {}  {}\n", present::pad_right(cells[0], kNameColumns),
                       present::wrap(text, kTextFrom, style.width));
  }
  return out;
}

bool fits(std::string_view lines, std::size_t width) {
  while (!lines.empty()) {
    if (present::columns_of(base::take_part(lines)) > width) return false;
  }
  return true;
}

/// Of several kinds, why the rows are of this one.
std::string why_this_kind(const DiffReport& report, const present::Style& style) {
  if (report.kinds.empty()) return "";
  const bool has_changed = std::ranges::any_of(
      report.kinds, [](const KindTotal& it) { return compare::is_change(it.verdict()); });
  const std::string text = fmt::format(
      "Rows: {}, {}. --kind selects another.", name_of(report.comparison.collected.kind),
      has_changed ? "whose total changed by the largest share" : "as no total changed");
  return present::paint(style, present::Role::kFaint, present::wrap(text, 0, style.width)) + "\n\n";
}

std::string totals_text(const DiffReport& report, const present::Style& style) {
  present::Style plain = style;
  plain.has_color = false;
  const auto has_room = [&](bool has_growth) {
    return fits(totals_grid(report, has_growth).text(plain), style.width);
  };
  const bool has_growth = has_room(true);
  return (has_growth || has_room(false) ? totals_grid(report, has_growth).text(style)
                                        : totals_in_words(report, style)) +
         "\n" + why_this_kind(report, style);
}

/// Beside the figures, half of what is left for names.
std::size_t room_for_places(const present::Style& style) {
  constexpr std::size_t kFigures = 8;
  return (style.width - kFigures) / 4;
}

std::string rows_text(const DiffReport& report, const present::Style& style) {
  const bool has_places = has_lines(report);
  const auto add = [&](present::Grid& grid, std::vector<std::string> cells, const DiffRow& row) {
    if (has_places) cells.back() = present::fit_place(cells.back(), room_for_places(style));
    present::add_row(grid, std::move(cells), row.site().name, row.site().detail,
                     report.comparison.collected.grouping.by, style,
                     !compare::is_change(row.it.verdict), row.site().where);
  };
  return present::fitting_grid(rows_of(report), style, add, present::kLittleRoomBesideAll)
      .text(style);
}

std::string_view it_or_them(std::uint64_t count) { return count == 1 ? "it" : "them"; }

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
    const std::uint64_t more = eligible - report.lines.size();
    out += fmt::format("{}; --top 0 shows {}.\n", counted_sites(more, "more " + kind),
                       it_or_them(more));
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
  return out + clause +
         fmt::format("; --all shows {}.\n", it_or_them(report.noise + report.too_few));
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

/// What sites may have that were seen on one side only: "not seen: no samples after, so less than
/// 1.85 MiB."
std::string unseen_limits(const DiffReport& report) {
  double before = 0, after = 0;
  for (const std::size_t line : report.lines) {
    const compare::Row& row = report.comparison.rows[line];
    if (row.verdict == Verdict::kFirstSeen) before = std::max(before, row.before.interval.hi);
    if (row.verdict == Verdict::kNotSeen) after = std::max(after, row.after.interval.hi);
  }
  std::string out;
  for (const auto& [most, verdict, side] : {std::tuple(before, Verdict::kFirstSeen, "before"),
                                            std::tuple(after, Verdict::kNotSeen, "after")}) {
    if (most <= 0) continue;
    out += fmt::format("{}: no samples {}, so less than {} there.\n", name_of(verdict), side,
                       present::bound_bytes(most));
  }
  return out;
}

/// Explains the columns whose headings do not.
std::string legend(const DiffReport& report) {
  std::string out = unseen_limits(report);
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
  for (const std::string& line : caveats(report)) out += line + "\n";
  return out.empty() ? out
                     : "\n" + present::paint(style, present::Role::kFaint,
                                             present::wrap_lines(out, style.width));
}

}  // namespace

/// What became of the advice for the run before.
static std::string advice_lines(const DiffReport& report, const present::Style& style) {
  std::string out;
  for (const FollowedAdvice& each : report.options.advice) {
    out += "  " + present::wrap(text_of(each), 2, style.width) + "\n";
  }
  return out.empty() ? "" : "\nAdvice for the run before:\n" + out;
}

std::string to_text(const DiffReport& report, const present::Style& style) {
  std::string out = heading(report, style) + totals_text(report, style);
  if (report.lines.empty()) {
    out += present::wrap(nothing_listed(report.comparison), 0, style.width) + "\n";
  } else {
    out += rows_text(report, style);
  }
  return out + advice_lines(report, style) + footer(report, style) +
         text_of(report.options.scope.fleet, style);
}

}  // namespace geiger::report
