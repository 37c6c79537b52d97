#include "analysis/report/profiles/marks.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/present/grid.h"
#include "analysis/present/text.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/select/totals.h"
#include "analysis/report/profiles/stats.h"

namespace geiger::report {
namespace {

using present::InRecording;
using profile::NumberedMark;
using profile::Recording;
using profile::Selection;

present::Measure measure(const Recording& recording, const Selection& selection, double level) {
  return present::measure_total(total(recording, select(recording, selection)), level);
}

present::Measure live_at(const Recording& recording, Nanoseconds time, double level) {
  Selection selection;
  selection.kind = profile::Kind::kLiveAtEnd;
  selection.at = time;
  return measure(recording, selection, level);
}

present::Measure allocated_between(const Recording& recording, Nanoseconds from, Nanoseconds to,
                                   double level) {
  Selection selection;
  selection.from = from;
  selection.to = to;
  return measure(recording, selection, level);
}

std::string shown_name(const MarkLine& line) {
  return line.of_name == 1 ? line.name : fmt::format("{}#{}", line.name, line.number);
}

std::string place_of(const MarkLine& line, const Recording& recording) {
  std::string text;
  if (line.thread < recording.threads.size()) text = thread_name(recording.threads[line.thread]);
  if (recording.processes.size() < 2) return text;
  return fmt::format("pid {}{}{}", recording.processes[line.process].pid, text.empty() ? "" : ", ",
                     text);
}

/// Marks of deleted segments went with these: what is left is numbered anew.
std::string deleted_text(const Recording& recording) {
  const bool lacks_marks = std::ranges::any_of(recording.processes, [](const auto& process) {
    return !process.segments.empty() && process.segments.front().number > 0;
  });
  return lacks_marks ? "Marks of deleted segments are missing: numbers and times count from the "
                       "first segment that is left.\n"
                     : "";
}

}  // namespace

static const present::Fields<InRecording<MarkLine>>& fields_of(
    present::Of<InRecording<MarkLine>> /*type*/) {
  using Line = InRecording<MarkLine>;
  const auto thread_of = [](const Line& it) {
    const bool is_known = it.it.thread < it.recording.threads.size();
    return is_known ? &it.recording.threads[it.it.thread] : nullptr;
  };
  static const auto kFields =
      present::Fields<Line>("mark")
          .field("name", "", &MarkLine::name)
          .field("number", "among the marks of its name: `mark:NAME#number`", &MarkLine::number)
          .field("of_name", "marks of its name", &MarkLine::of_name)
          .field("after_ns", "the start of the recording", &MarkLine::after_start)
          .field("pid", "that set it",
                 [](const Line& it) { return it.recording.processes[it.it.process].pid; })
          .field("tid", "that set it, where known",
                 [thread_of](const Line& it) {
                   const auto* thread = thread_of(it);
                   return thread == nullptr ? std::nullopt : std::optional(thread->tid);
                 })
          .field("thread", "its name",
                 [thread_of](const Line& it) {
                   const auto* thread = thread_of(it);
                   return thread == nullptr ? std::nullopt : std::optional(thread->name);
                 })
          .field("allocated_since", "the mark before, or the start", &MarkLine::allocated)
          .field("live", "at the mark, in all processes that were there", &MarkLine::live);
  return kFields;
}

MarksReport marks_report(const Recording& recording, const MarksOptions& options) {
  MarksReport report;
  report.options = options;
  std::vector<NumberedMark> marks = profile::numbered_marks(recording);
  report.marks = marks.size();
  if (options.top > 0 && marks.size() > options.top) marks.resize(options.top);
  const Nanoseconds start = profile::start_of(recording);
  Nanoseconds before = start;
  for (const NumberedMark& numbered : marks) {
    const profile::Mark& mark = recording.marks[numbered.mark];
    const Nanoseconds time = std::max(mark.time, start);
    report.lines.push_back({mark.name, numbered.number, numbered.of_name, mark.process, mark.thread,
                            time - start, allocated_between(recording, before, time, options.level),
                            live_at(recording, time, options.level)});
    before = time;
  }
  return report;
}

std::string to_text(const MarksReport& report, const Recording& recording,
                    const present::Style& style) {
  if (report.lines.empty()) {
    return deleted_text(recording) +
           "No marks. geiger::mark(\"NAME\") in the program sets one (docs/guide/profiles.md).\n";
  }
  std::vector<present::Column> columns{{"after", present::Align::kRight, false}};
  present::append_figure_columns(columns, "allocated since");
  present::append_figure_columns(columns, "live then");
  columns.push_back({"mark", present::Align::kLeft, false});
  present::Grid grid(std::move(columns));
  for (const MarkLine& line : report.lines) {
    std::vector<std::string> cells{present::duration(line.after_start)};
    present::append_figure(cells, present::figure(line.allocated.bytes, present::Quantity::kBytes));
    present::append_figure(cells, present::figure(line.live.bytes, present::Quantity::kBytes));
    cells.push_back(present::printable(shown_name(line)));
    grid.add(std::move(cells), present::printable(place_of(line, recording)));
  }
  std::string out =
      deleted_text(recording) + fmt::format("{}, {} intervals\n\n{}",
                                            present::paint(style, present::Role::kHeading,
                                                           present::plural(report.marks, "mark")),
                                            present::level_text(style.level), grid.text(style));
  if (report.marks > report.lines.size()) {
    out += fmt::format("\n{} more. --top 0 shows all.\n", report.marks - report.lines.size());
  }
  return out;
}

const present::Fields<InRecording<MarksReport>>& fields_of(
    present::Of<InRecording<MarksReport>> /*type*/) {
  using Document = InRecording<MarksReport>;
  static const auto kFields = present::Fields<Document>("marks")
                                  .field("level", "confidence level of all intervals",
                                         [](const MarksReport& it) { return it.options.level; })
                                  .field("mark_count", "marks before `--top`", &MarksReport::marks)
                                  .field("marks", "in order of time", [](const Document& it) {
                                    return present::each_of(it.it.lines, it.recording);
                                  });
  return kFields;
}

std::string to_json(const MarksReport& report, const Recording& recording) {
  return present::document("marks", report, recording);
}

}  // namespace geiger::report
