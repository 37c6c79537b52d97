#include "analysis/report/profiles/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/naming/display_name.h"
#include "analysis/present/fields.h"
#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/grid.h"
#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/frames/stack_answers.h"
#include "analysis/profile/frames/types.h"
#include "analysis/profile/groups/groupings.h"
#include "analysis/profile/memory/measured.h"

namespace geiger::report {

// Of how many sampled objects of Python the type is known, and why not of the others, for tables of
// types.

/// A line of its own; empty if all have a type.
[[nodiscard]] std::string text_of(const profile::PythonTyping& python);

}  // namespace geiger::report

namespace geiger::present {

[[nodiscard]] const Fields<profile::PythonTyping>& fields_of(Of<profile::PythonTyping> /*type*/);

}  // namespace geiger::present

namespace geiger::report {

std::string text_of(const profile::PythonTyping& python) {
  if (python.typed == python.samples) return {};
  const std::string reason =
      python.fault.empty() ? "the others are parts of objects, or their types could not be read"
                           : present::printable(python.fault);
  return fmt::format("{} of {}{} have a type: {}.\n", present::exact_count(python.typed),
                     present::plural(python.samples, "sampled Python object"),
                     python.is_at_end ? " live at the end" : "", reason);
}

}  // namespace geiger::report

namespace geiger::present {

using profile::PythonTyping;

const Fields<PythonTyping>& fields_of(Of<PythonTyping> /*type*/) {
  static const auto kFields =
      Fields<PythonTyping>("python_objects", "How many of them have a known type.")
          .field("samples", "", &PythonTyping::samples)
          .field("typed", "of `samples`", &PythonTyping::typed)
          .field("is_at_end", "only samples that were live at the end count; else all",
                 &PythonTyping::is_at_end)
          .field("fault", "why types of a process could not be read; empty if they could",
                 &PythonTyping::fault);
  return kFields;
}

}  // namespace geiger::present

namespace geiger::report {

present::Figure share_figure(const TableLine& line) {
  const estimation::Interval& interval = line.share.interval;
  const bool is_open = interval.lo < 0.005 && interval.hi > 0.995;
  return is_open ? present::Figure{} : present::figure(line.share);
}

namespace {

using estimation::NodeSums;
using present::InRecording;
using profile::GroupBy;
using profile::Row;

const NodeSums& sorted_sums(const Row& row, SortBy sort) {
  return sort == SortBy::kTotal ? row.total : row.self;
}

const present::Measure& sorted_measure(const TableLine& line, SortBy sort) {
  return sort == SortBy::kTotal ? line.total : line.self;
}

/// A row's place in the order, computed once: calibrated bytes take an estimate each.
struct Rank {
  std::uint32_t row;
  double first, total;  ///< What counts; what decides between equals.
};

Rank rank_of(const std::vector<Row>& rows, std::uint32_t index, SortBy sort,
             const present::Whole& whole) {
  const Row& row = rows[index];
  if (sort == SortBy::kName) return {index, 0, 0};
  if (sort == SortBy::kNatural) return {index, -static_cast<double>(row.place), 0};
  const double total = whole.bytes_for_order(row.total);
  if (sort == SortBy::kTotal) return {index, total, total};
  if (sort == SortBy::kSelf) return {index, whole.bytes_for_order(row.self), total};
  if (sort == SortBy::kObjects) return {index, row.self.all_objects(), total};
  return {index, static_cast<double>(row.self.samples + row.self.certain_samples), total};
}

/// The rows' indexes in order.
std::vector<std::uint32_t> ordered(const std::vector<Row>& rows, SortBy sort,
                                   const present::Whole& whole) {
  std::vector<Rank> ranks;
  ranks.reserve(rows.size());
  for (std::uint32_t i = 0; i < rows.size(); ++i) ranks.push_back(rank_of(rows, i, sort, whole));
  std::sort(ranks.begin(), ranks.end(), [&](const Rank& a, const Rank& b) {
    if (a.first != b.first) return a.first > b.first;
    if (a.total != b.total) return a.total > b.total;
    // Names and stacks break ties, so that equal input gives equal output.
    const Row& left = rows[a.row];
    const Row& right = rows[b.row];
    return std::tie(left.name, left.detail, left.stack) <
           std::tie(right.name, right.detail, right.stack);
  });
  std::vector<std::uint32_t> order;
  order.reserve(rows.size());
  for (const Rank& rank : ranks) order.push_back(rank.row);
  return order;
}

/// Intervals of neighbours that overlap leave their order open. One row more
/// than is shown is estimated, so that the last row can be marked too.
void mark_uncertain_order(std::vector<TableLine>& lines, SortBy sort) {
  if (sort != SortBy::kSelf && sort != SortBy::kTotal && sort != SortBy::kObjects) return;
  const auto sorted = [&](const TableLine& line) -> const estimation::Estimate& {
    const present::Measure& measure = sorted_measure(line, sort);
    return sort == SortBy::kObjects ? measure.objects : present::shown_bytes(measure);
  };
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    const estimation::Estimate& upper = sorted(lines[i]);
    const estimation::Estimate& lower = sorted(lines[i + 1]);
    const bool is_seen = sorted_measure(lines[i + 1], sort).samples > 0;
    lines[i].is_order_uncertain = is_seen && lower.interval.hi > upper.interval.lo;
  }
}

NodeSums sum_from(const std::vector<Row>& rows, const std::vector<std::uint32_t>& order,
                  std::size_t first) {
  NodeSums sums;
  for (std::size_t i = first; i < order.size(); ++i) sums.merge(rows[order[i]].self);
  return sums;
}

/// Removes rows without samples of their own, which say nothing when sorted by self:
/// "< 1.9 MiB  main". Returns how many; 0 if no row has samples.
std::size_t leave_out_callers(std::vector<Row>& rows, const TableOptions& options) {
  const bool is_by_own = options.sort == SortBy::kSelf || options.sort == SortBy::kSamples ||
                         options.sort == SortBy::kObjects;
  const auto has_own = [](const Row& row) {
    return row.self.samples + row.self.certain_samples != 0;
  };
  if (options.top == 0 || !is_by_own || std::ranges::none_of(rows, has_own)) return 0;
  return std::erase_if(rows, std::not_fn(has_own));
}

TableLine line_of(const Row& row, const present::Whole& whole, const TableOptions& options) {
  TableLine line{row.name,
                 row.detail,
                 options.by == GroupBy::kStack ? row.stack : profile::kNone,
                 row.where,
                 whole.measure_row(row.self, options.level),
                 whole.measure_row(row.total, options.level),
                 {},
                 false};
  line.share = present::share_of(sorted_measure(line, options.sort), sorted_sums(row, options.sort),
                                 whole, options.level);
  return line;
}

/// What a row is of. The processes of a fleet's recording are its hosts.
std::string row_word(const TableReport& report) {
  const bool is_host =
      report.options.by == GroupBy::kProcess && !report.options.scope.fleet.empty();
  return is_host ? "host" : std::string(name_of(report.options.by));
}

/// Functions, lines, modules and labels have a total, callees included, besides their own bytes.
bool has_self_and_total(const TableReport& report) {
  const GroupBy by = report.options.by;
  return by == GroupBy::kFunction || by == GroupBy::kLine || by == GroupBy::kModule ||
         by == GroupBy::kLabel;
}

/// Whether debug information has the line of any row.
bool has_lines(const TableReport& report) {
  return std::ranges::any_of(report.lines,
                             [](const TableLine& line) { return !line.where.file.empty(); });
}

/// A line, and the report that its fields depend on.
struct TableRow {
  const TableLine& line;
  const TableReport& report;
  const profile::Recording* recording = nullptr;  ///< Not needed for text.
};

std::vector<TableRow> rows_of(const TableReport& report, const profile::Recording* recording) {
  std::vector<TableRow> rows;
  for (const TableLine& line : report.lines) rows.push_back({line, report, recording});
  return rows;
}

present::Figure bytes_figure(const present::Measure& measure) {
  return present::figure(present::shown_bytes(measure), present::Quantity::kBytes);
}

/// The order in which a narrow terminal drops columns: the share, then the measure that the rows
/// are not sorted by; last the lines, or the samples if lines distinguish
/// rows.
enum GoesAt : int { kAbsent = -1, kStays, kLast, kSecond, kFirst };

int rank_of_measure(const TableRow& row, bool is_total) {
  const bool is_sorted = (row.report.options.sort == SortBy::kTotal) == is_total;
  if (!has_self_and_total(row.report)) return is_total ? kAbsent : kStays;
  return is_sorted ? kStays : kSecond;
}

bool has_line_rows(const TableRow& row) {
  return row.report.options.by == GroupBy::kLine || row.report.options.by == GroupBy::kStack;
}

const present::Fields<TableRow>& fields_of(present::Of<TableRow> /*type*/) {
  using present::Cells;
  static const auto kFields =
      present::Fields<TableRow>("table_row")
          .only_column(Cells::kNumber, "", kStays,
                       [](const TableRow& row) { return row.line.is_order_uncertain ? "~" : " "; })
          .inlined([](const TableRow& row) {
            return present::Named{row.line.name,
                                  present::is_named_by_functions(row.report.options.by)};
          })
          .field("detail", "what tells it from others of its name: module, callers, pid",
                 [](const TableRow& row) { return row.line.detail; })
          .inlined([](const TableRow& row) { return row.line.where; })
          .field("self", "what it allocated itself",
                 [](const TableRow& row) { return row.line.self; })
          .column(
              Cells::kFigure,
              [](const TableRow& row) { return has_self_and_total(row.report) ? "self" : "bytes"; },
              [](const TableRow& row) { return rank_of_measure(row, false); },
              [](const TableRow& row) { return bytes_figure(row.line.self); })
          .only_column(
              Cells::kFigure, "objects",
              [](const TableRow& row) {
                return row.report.options.sort == SortBy::kObjects ? kStays : kAbsent;
              },
              [](const TableRow& row) {
                return present::figure(row.line.self.objects, present::Quantity::kObjects);
              })
          .field("total", "what it and the functions that it called allocated",
                 [](const TableRow& row) { return row.line.total; })
          .column(
              Cells::kFigure, "total",
              [](const TableRow& row) { return rank_of_measure(row, true); },
              [](const TableRow& row) { return bytes_figure(row.line.total); })
          .field("share", "of the whole: of what the rows are sorted by",
                 [](const TableRow& row) {
                   return present::if_true(row.report.has_whole, row.line.share);
                 })
          .column(
              Cells::kFigure, "share",
              [](const TableRow& row) { return row.report.has_whole ? kFirst : kAbsent; },
              [](const TableRow& row) { return share_figure(row.line); })
          .only_column(
              Cells::kNumber,
              [](const TableRow& row) { return present::count_heading(row.report.kind); },
              [](const TableRow& row) { return has_line_rows(row) ? kLast : kStays; },
              [](const TableRow& row) {
                return present::exact_count(
                    sorted_measure(row.line, row.report.options.sort).samples);
              })
          .called("samples", "records that it is estimated from")
          .field("is_order_uncertain", "it may belong below the next row: their intervals overlap",
                 [](const TableRow& row) { return row.line.is_order_uncertain; })
          .inlined(
              [](const TableRow& row) { return present::stack_of(*row.recording, row.line.stack); })
          .only_column(
              Cells::kName,
              [](const TableRow& row) {
                return row.report.options.by == GroupBy::kLine ? "function" : row_word(row.report);
              },
              kStays, [](const TableRow& row) { return present::printable(row.line.name); })
          .only_column(
              Cells::kText, "where",
              [](const TableRow& row) {
                if (!has_lines(row.report)) return kAbsent;
                return has_line_rows(row) ? kStays : kLast;
              },
              [](const TableRow& row) {
                return present::where_cell(row.line.where, row.line.detail, row.report.options.by);
              });
  return kFields;
}

std::string grid_text(const TableReport& report, const present::Style& style) {
  const auto add = [&](present::Grid& grid, std::vector<std::string> cells, const TableRow& row) {
    const TableLine& line = row.line;
    present::add_row(grid, std::move(cells), line.name, line.detail, report.options.by, style,
                     false, line.where);
    if (!line.context.empty()) grid.append_callers(context_text(line.context, style), true);
  };
  return present::fitting_grid(rows_of(report, nullptr), style, add).text(style);
}

std::string footer(const TableReport& report, const present::Style& style) {
  std::string out;
  const std::string word = row_word(report);
  const std::uint64_t left_out = report.rows - report.lines.size() - report.callers;
  if (left_out > 0) {
    out += fmt::format(
        "{}: {}. --top 0 shows all.\n", present::plural(left_out, "more " + word),
        present::figure(present::shown_bytes(report.others), present::Quantity::kBytes).text());
  }
  if (report.callers > 0) {
    out += fmt::format("{} without samples of {} own: --sort total shows {}.\n",
                       present::plural(report.callers, word), report.callers == 1 ? "its" : "their",
                       report.callers == 1 ? "it" : "them");
  }
  if (present::is_named_by_functions(report.options.by)) {
    out += present::unnamed_note(report.lines, &TableLine::name, style.width, report.absent);
  }
  const bool any_uncertain = std::ranges::any_of(report.lines, &TableLine::is_order_uncertain);
  if (any_uncertain) out += "~ may belong below the next row: their intervals overlap.\n";
  out += present::cut_note(report.cut, report.has_stacks_at_limit);
  if (!report.has_whole) {
    out +=
        "The heading covers the process's own heap; other heaps may lie inside it and are not "
        "added.\n";
  }
  return present::profile_footer(std::move(out), report.calibrated_to, report.is_split, style);
}

/// How much has no type, and why; empty for nothing.
std::string unknown_type_note(const TableReport& report) {
  if (!(report.unknown_type > 0)) return {};
  const std::string open =
      fmt::format("open in all other rows, in upper limits only: {} whose type is not known\n",
                  present::bound_bytes(report.unknown_type));
  return report.python ? open + text_of(*report.python) : open;
}

}  // namespace

std::vector<present::ColumnWords> table_columns(GroupBy by) {
  TableReport report;
  report.options.by = by;
  const TableLine line;
  return present::words_of_columns(TableRow{line, report});
}

TableReport table_report(const profile::Recording& recording, const profile::Profile& profile,
                         const TableOptions& options) {
  const present::Whole whole(recording, profile);
  std::vector<Row> rows = profile::table(recording, profile, options.by);
  const NodeSums unknown =
      options.by == GroupBy::kType ? profile::of_unknown_type(rows) : NodeSums{};
  if (options.shows) {
    std::erase_if(rows, [&](const Row& row) { return !options.shows(row); });
  }
  const std::size_t callers = leave_out_callers(rows, options);
  const std::vector<std::uint32_t> order = ordered(rows, options.sort, whole);
  TableReport report{profile.kind,
                     options,
                     whole.measure_total(options.level),
                     profile.rate_factor < 1,
                     {},
                     rows.size() + callers,
                     callers,
                     {},
                     whole.calibrated_to(),
                     {}};
  if (options.by == GroupBy::kType) {
    const bool is_at_end = profile.kind == profile::Kind::kLiveAtEnd && !options.scope.at;
    report.python = profile::python_typing(recording, is_at_end);
  }
  if (has_self_and_total(report) && options.by != GroupBy::kLabel) {
    report.cut = total(recording, with_cut_stacks(recording, profile)).all_bytes();
    report.has_stacks_at_limit = profile::has_stacks_at_limit(recording);
  }
  const std::size_t shown = options.top == 0 ? rows.size() : std::min(options.top, rows.size());
  NodeSums others = sum_from(rows, order, shown);
  if (options.by == GroupBy::kType) {
    report.unknown_type = unknown.all_bytes();
    // Once, however many of the rows left out they may belong to.
    const bool is_left_out =
        std::any_of(order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::uint32_t row) { return rows[row].name == profile::kUnknownType; });
    if (!is_left_out && shown < rows.size()) others.leave_open(unknown);
    for (Row& row : rows) row.self = row.total;
  }
  for (std::size_t i = 0; i < std::min(shown + 1, rows.size()); ++i) {
    report.lines.push_back(line_of(rows[order[i]], whole, options));
  }
  mark_uncertain_order(report.lines, options.sort);
  report.lines.resize(shown);
  if (options.by == GroupBy::kStack) distinguish_stacks(report.lines, recording);
  report.others = whole.measure_part(others, options.level);
  report.absent = present::absent_modules(recording);
  return report;
}

TableReport heaps_report(const profile::Recording& recording, const profile::Selection& selection,
                         const TableOptions& options) {
  TableReport report;
  report.options = options;
  report.kind = selection.kind;
  report.has_whole = false;
  std::vector<std::uint32_t> heaps{profile::kProcessHeap};
  for (std::uint32_t i = 0; i < recording.heaps.size(); ++i) heaps.push_back(i);
  TableOptions of_one = options;
  of_one.by = GroupBy::kHeap;
  for (const std::uint32_t heap : heaps) {
    profile::Selection own = selection;
    own.heap = heap;
    TableReport one = table_report(recording, profile::select(recording, own), of_one);
    if (heap == profile::kProcessHeap) {
      report.total = one.total;
      report.calibrated_to = one.calibrated_to;
    }
    report.is_split |= one.is_split;
    report.lines.insert(report.lines.end(), one.lines.begin(), one.lines.end());
  }
  report.rows = report.lines.size();
  std::ranges::stable_sort(report.lines, std::greater<>(), [&](const TableLine& line) {
    return present::shown_bytes(line.self).value;
  });
  mark_uncertain_order(report.lines, options.sort);
  return report;
}

std::string to_text(const TableReport& report, const present::Style& style) {
  const present::Scope& scope = report.options.scope;
  std::string out = present::profile_heading(report.kind, "by " + row_word(report), report.total,
                                             style, scope, unknown_type_note(report));
  const std::string fleet = text_of(scope.fleet, style);
  if (report.lines.empty()) return out + present::nothing_sampled(report.kind, scope) + fleet;
  out += grid_text(report, style);
  return out + footer(report, style) + fleet;
}

const present::Fields<InRecording<TableReport>>& fields_of(
    present::Of<InRecording<TableReport>> /*type*/) {
  using Document = InRecording<TableReport>;
  static const auto kFields =
      present::Fields<Document>("table")
          .field("kind", "", &TableReport::kind)
          .field("by", "what a row is of", [](const TableReport& it) { return it.options.by; })
          .field("level", "confidence level of all intervals",
                 [](const TableReport& it) { return it.options.level; })
          .field("is_split", "a quarter of the samples chose the peak, the others were measured",
                 &TableReport::is_split)
          .inlined([](const TableReport& it) { return it.options.scope; })
          .field("total", "the whole profile", &TableReport::total)
          .field("row_count", "rows before `--top`", &TableReport::rows)
          .field("cut_stacks_bytes", "of stacks that were cut, in upper limits of totals only",
                 [](const TableReport& it) { return present::if_true(it.cut > 0, it.cut); })
          .field("exact_bytes", "the total as it was counted",
                 [](const TableReport& it) { return present::exact_bytes(it.total); })
          .field("rows", "in the order of `--sort`",
                 [](const Document& it) { return rows_of(it.it, &it.recording); })
          .field("others", "the rows left out, `self` of each", &TableReport::others)
          .field("python_objects", "with `--by type`, if objects of Python were sampled",
                 &TableReport::python);
  return kFields;
}

std::string to_json(const TableReport& report, const profile::Recording& recording) {
  return present::document("table", report, recording);
}

namespace {

using profile::Recording;

constexpr std::size_t kNearest = 3;  ///< Callers that are shown even if they distinguish nothing.

/// A stack as it is compared: the n-th part of one with the n-th of another.
struct Compared {
  TableLine* line = nullptr;
  /// Callers from the innermost on, callees from the outermost on, callers with their lines.
  std::vector<ContextPart> callers = {}, callees = {}, places = {};
  std::vector<std::size_t> differing = {};  ///< Places of the parts, in that order.
};

using ComparedStacks = std::vector<Compared>;
using AlikeStacks = std::vector<Compared*>;

/// Makes the parts of all of equal number, so that they stand side by side.
void align_parts(ComparedStacks& group, std::vector<ContextPart> Compared::*parts) {
  std::size_t most = 0;
  for (const Compared& one : group) most = std::max(most, (one.*parts).size());
  for (Compared& one : group) (one.*parts).resize(most);
}

const ContextPart& part_at(const Compared& one, std::size_t at) {
  if (at < one.callers.size()) return one.callers[at];
  at -= one.callers.size();
  return at < one.callees.size() ? one.callees[at] : one.places[at - one.callees.size()];
}

/// Notes the parts by which members differ, from `at` on.
void note_differing(const AlikeStacks& members, std::size_t at) {
  const Compared& first = *members.front();
  const std::size_t end = first.callers.size() + first.callees.size() + first.places.size();
  for (; at < end; ++at) {
    std::map<std::pair<std::string_view, std::string_view>, AlikeStacks> parts;
    for (Compared* one : members) {
      const ContextPart& part = part_at(*one, at);
      parts[{part.function, part.place}].push_back(one);
    }
    if (parts.size() == 1) continue;
    for (const auto& [text, alike] : parts) {
      for (Compared* one : alike) one->differing.push_back(at);
      if (alike.size() > 1) note_differing(alike, at + 1);
    }
    return;
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i]->line->context.push_back({.mark = fmt::format("#{}", i + 1)});
  }
}

/// Which callers are shown, by their place from the innermost on, and which with their lines.
struct ShownCallers {
  std::set<std::size_t> callers, with_lines;
};

void add_callers(std::vector<ContextPart>& out, const Compared& one, const ShownCallers& shown) {
  std::size_t next = 0;
  for (const std::size_t at : shown.callers) {
    if (at >= one.callers.size() || one.callers[at].function.empty()) continue;  // It ends before.
    if (at > next) out.push_back({.function = "…"});
    out.push_back(shown.with_lines.contains(at) ? one.places[at] : one.callers[at]);
    next = at + 1;
  }
}

std::vector<ContextPart> context_of(const Compared& one) {
  std::vector<ContextPart> context;
  ShownCallers shown;
  const std::size_t callees = one.callers.size();
  const std::size_t places = callees + one.callees.size();
  for (const std::size_t at : one.differing) {
    if (at < callees) {
      shown.callers.insert(at);
    } else if (at >= places) {
      shown.callers.insert(at - places);
      shown.with_lines.insert(at - places);
    } else if (context.empty()) {
      context.push_back(part_at(one, at));
    }
  }
  // The nearest callers fill the gaps where that takes few.
  const bool is_near = !shown.callers.empty() && *shown.callers.rbegin() < kNearest;
  for (std::size_t i = 0; is_near && i < kNearest; ++i) shown.callers.insert(i);
  add_callers(context, one, shown);
  return context;
}

Compared as_compared(TableLine& line, const Recording& recording, profile::ShownPath& shown) {
  Compared one{.line = &line};
  shown.of(line.stack);
  const profile::Labels& labels = shown.labels();
  const std::vector<std::uint32_t>& path = shown.path();
  for (std::size_t i = 1; i < path.size(); ++i) {
    one.callers.push_back({.function = labels[path[i]].name});
    const std::string place = text_of(profile::source_line_of(recording, shown.frames()[i]));
    one.places.push_back({.function = labels[path[i]].name,
                          .place = place.empty() ? "" : fmt::format(" ({})", place)});
  }
  std::vector<std::uint32_t> whole;
  labels.collect(recording, line.stack, whole);
  for (auto at = std::ranges::find(whole, path.front()); at != whole.begin();) {
    one.callees.push_back({.function = labels[*--at].name, .mark = "› "});
  }
  return one;
}

}  // namespace

void distinguish_stacks(std::span<TableLine> lines, const Recording& recording) {
  std::map<std::tuple<std::string_view, std::string_view, std::uint32_t>, std::vector<TableLine*>>
      alike;
  for (TableLine& line : lines) {
    if (line.stack != profile::kNone)
      alike[{line.name, line.where.file, line.where.line}].push_back(&line);
  }
  profile::ShownPath shown(recording);
  for (const auto& [place, of_place] : alike) {
    if (of_place.size() < 2) continue;
    ComparedStacks group;
    for (TableLine* line : of_place) group.push_back(as_compared(*line, recording, shown));
    align_parts(group, &Compared::callers);
    align_parts(group, &Compared::callees);
    align_parts(group, &Compared::places);
    AlikeStacks members;
    for (Compared& one : group) members.push_back(&one);
    note_differing(members, 0);
    for (Compared& one : group) {
      std::vector<ContextPart> context = context_of(one);
      context.insert(context.end(), one.line->context.begin(), one.line->context.end());
      one.line->context = std::move(context);
    }
  }
}

std::string context_text(const std::vector<ContextPart>& context, const present::Style& style) {
  std::string out;
  for (const ContextPart& part : context) {
    const std::string name = present::printable(part.function);
    if (!out.empty()) out += part.function.empty() ? " " : " < ";
    out += part.mark;
    out += style.names == present::Names::kFull ? name : naming::display_name(name);
    out += present::printable(part.place);
  }
  return out;
}

}  // namespace geiger::report
