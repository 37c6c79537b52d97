#include "analysis/present/heading.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/present/format.h"
#include "analysis/present/text.h"
#include "analysis/profile/memory/mappings.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/select/peak.h"
#include "analysis/profile/select/totals.h"
#include "estimation/calibration.h"
#include "vocabulary/vocabulary.h"

namespace geiger::present {

std::optional<AskedInside> asked_inside(const profile::Recording& recording, profile::Kind kind,
                                        profile::Moment moment) {
  if (kind != profile::Kind::kResident) return std::nullopt;
  const auto answers = profile::facts_of_answers(recording, moment);
  if (answers.empty()) return std::nullopt;
  const auto [first, last] = std::ranges::minmax(answers, {}, &profile::AnswerFacts::time);
  const Nanoseconds start = profile::start_of(recording);
  AskedInside asked{.processes = answers.size(),
                    .first = first.time - std::min(first.time, start),
                    .last = last.time - std::min(last.time, start)};
  for (const profile::AnswerFacts& answer : answers) {
    asked.answered += answer.answered;
    asked.unanswered += answer.unanswered;
  }
  return asked;
}

std::string text_of(const AskedInside& asked) {
  const std::string where = asked.processes == 1
                                ? "the process"
                                : fmt::format("{} processes", exact_count(asked.processes));
  std::string text =
      fmt::format("measured by mincore inside {} at {}", where, duration(asked.first));
  if (asked.last != asked.first) text += " to " + duration(asked.last);
  if (asked.unanswered == 0) return text;
  return text + fmt::format(
                    "; {} of {} live at that time have no answer and count as between none and all "
                    "of their bytes",
                    exact_count(asked.unanswered),
                    plural(asked.answered + asked.unanswered, "sample"));
}

const Fields<AskedInside>& fields_of(Of<AskedInside> /*type*/) {
  static const auto kFields =
      Fields<AskedInside>("by_mincore", "Residency as processes told it from inside.")
          .field("processes", "that were asked", &AskedInside::processes)
          .field("first_ns", "the first time, after the start", &AskedInside::first)
          .field("last_ns", "the last time, after the start", &AskedInside::last)
          .field("answered", "samples that were live then, with an answer", &AskedInside::answered)
          .field("unanswered",
                 "those without: values and lower limits count none of their bytes, upper limits "
                 "all",
                 &AskedInside::unanswered);
  return kFields;
}

namespace {

/// When what a kind is of was read of a process.
std::optional<Nanoseconds> time_read(const profile::Observations& observations, profile::Kind kind,
                                     profile::Moment moment) {
  if (profile::is_of_content(kind)) {
    const profile::Content* content = profile::content_at(observations, moment);
    return content == nullptr ? std::nullopt : std::optional(content->time);
  }
  const profile::Snapshot* snapshot = profile::snapshot_at(observations, moment);
  return snapshot == nullptr ? std::nullopt : std::optional(snapshot->time);
}

}  // namespace

std::optional<ReadAt> read_at(const profile::Recording& recording, profile::Kind kind,
                              profile::Moment moment) {
  std::optional<ReadAt> read;
  const Nanoseconds start = profile::start_of(recording);
  for (const profile::Observations& observations : recording.observations) {
    const auto time = time_read(observations, kind, moment);
    if (!time) continue;
    const Nanoseconds after = *time - std::min(*time, start);
    if (!read) read = ReadAt{.first = after, .last = after, .moment = moment};
    ++read->processes;
    read->first = std::min(read->first, after);
    read->last = std::max(read->last, after);
  }
  return read;
}

std::string text_of(const ReadAt& read) {
  std::string text = duration(read.first);
  if (read.last != read.first) text += " to " + duration(read.last);
  const bool is_last = read.moment == profile::Moment::kLast;
  text += fmt::format(" after the start, at the {} reading", is_last ? "last" : "largest RSS");
  return read.processes == 1 ? text
                             : fmt::format("{} of each of {} processes", text, read.processes);
}

const Fields<ReadAt>& fields_of(Of<ReadAt> /*type*/) {
  static const auto kFields =
      Fields<ReadAt>("snapshot", "When the memory of processes was read.")
          .field("processes", "whose memory was read", &ReadAt::processes)
          .field("first_ns", "the first reading, after the start", &ReadAt::first)
          .field("last_ns", "the last reading, after the start", &ReadAt::last)
          .field("moment", "the reading with the largest RSS, or the last one",
                 [](const ReadAt& it) {
                   return it.moment == profile::Moment::kLast ? "last" : "maximum";
                 })
          .one_of({"maximum", "last"});
  return kFields;
}

std::vector<std::string_view> names_of(Of<profile::Kind> /*type*/) {
  std::vector<std::string_view> names;
  for (const profile::KindRules& rules : profile::kKindRules) names.push_back(rules.name);
  return names;
}

std::vector<std::string_view> names_of(Of<profile::GroupBy> /*type*/) {
  std::vector<std::string_view> names;
  for (const auto& [name, by] : profile::kGroups) names.push_back(name);
  return names;
}

std::string end_text(const profile::Recording& recording, const profile::Selection& selection) {
  if (selection.at || selection.to) return "";
  profile::Selection one = selection;
  one.at_own_ends = false;
  const std::vector<bool> there = there_at_end(recording, one);
  const auto is_chosen = [&](std::uint32_t process) {
    return selection.processes.empty() ||
           std::ranges::find(selection.processes, process) != selection.processes.end();
  };
  std::size_t all = 0, left = 0, finalizing = 0;
  for (std::uint32_t i = 0; i < there.size(); ++i) {
    all += is_chosen(i) ? 1 : 0;
    left += is_chosen(i) && there[i] ? 1 : 0;
    finalizing += is_chosen(i) && recording.processes[i].finalizing_from != 0 ? 1 : 0;
  }
  if (all == 1 && finalizing == 1) return std::string(kBeforeFinalization);
  if (left == all) return "";
  return fmt::format("when {} of {} processes ended", selection.at_own_ends ? "each" : "the last",
                     exact_count(all));
}

std::string text_of(const Scope& scope, profile::Kind kind) {
  if (!scope.when.empty()) return printable(scope.when);
  constexpr std::string_view kAtTheEnd = "at the end";
  std::string text(kind_text(kind));
  const bool is_live = kind == profile::Kind::kLiveAtEnd || is_of_live_blocks(kind);
  if (!is_live || scope.end.empty()) return text;
  text.resize(text.size() - kAtTheEnd.size());
  return text + scope.end;
}

std::string only_text(const Scope& scope) {
  std::string text;
  for (const auto& [what, which] : scope.only) {
    text += fmt::format("{} {} {}", text.empty() ? "only" : ",", what, printable(which));
  }
  return text;
}

namespace {

/// The part of a Scope that is about what was left out.
struct Chosen {
  const Scope& scope;
};
/// A filter.
struct Only {
  std::string what, which;
};

const Fields<Only>& fields_of(Of<Only> /*type*/) {
  static const auto kFields = Fields<Only>()
                                  .field("what", "", &Only::what)
                                  .one_of({"heap", "thread", "label", "type", "size", "function",
                                           "pid", "service", "version", "host"})
                                  .field("which", "", &Only::which);
  return kFields;
}

const Fields<Chosen>& fields_of(Of<Chosen> /*type*/) {
  static const auto kFields =
      Fields<Chosen>("selection", "The part of its kind that a report is about.")
          .field("when", "as in the heading; empty without instants",
                 [](const Chosen& it) { return it.scope.when; })
          .field("from_ns", "instant after the start of the recording",
                 [](const Chosen& it) { return it.scope.from; })
          .field("to_ns", "", [](const Chosen& it) { return it.scope.to; })
          .field("at_ns", "", [](const Chosen& it) { return it.scope.at; })
          .field("is_split", "a quarter of the samples chose one of the instants",
                 [](const Chosen& it) { return it.scope.is_split; })
          .field("only", "filters in force",
                 [](const Chosen& it) {
                   std::vector<Only> all;
                   for (const auto& [what, which] : it.scope.only) all.push_back({what, which});
                   return all;
                 })
          .field("lacks", "the process, or the part of its recording, that is missing",
                 [](const Chosen& it) { return if_true(!it.scope.lacks.empty(), it.scope.lacks); })
          .field("open", "what the filters cannot tell of, in words",
                 [](const Chosen& it) { return it.scope.open; });
  return kFields;
}

}  // namespace

const Fields<Scope>& fields_of(Of<Scope> /*type*/) {
  static const auto kFields =
      Fields<Scope>()
          .field("by_mincore", "where residency was asked inside processes", &Scope::asked)
          .field("snapshot", "of which readings of memory the report is", &Scope::read)
          .field("fleet", "how much of the fleet was recorded",
                 [](const Scope& it) { return if_true(!it.fleet.empty(), it.fleet); })
          .field("selection", "of less than everything of its kind: which part",
                 [](const Scope& it) {
                   return if_true(it.is_part() || !it.lacks.empty(), Chosen{it});
                 });
  return kFields;
}

namespace {

/// Whether the text of a kind stands alone, where that of others follows "bytes".
bool is_noun(profile::Kind kind) {
  return kind == profile::Kind::kOverhead || kind == profile::Kind::kLiveOverhead ||
         kind == profile::Kind::kMappedFiles || profile::is_of_content(kind);
}

}  // namespace

std::string bytes_of(const Scope& scope, profile::Kind kind) {
  const std::string text = text_of(scope, kind);
  const std::string filters = only_text(scope);
  const std::string only = filters.empty() ? "" : ", " + filters;
  if (is_noun(kind)) return text + only;
  const bool is_all = scope.when.empty() && kind == profile::Kind::kAllocated;
  return (is_all ? text + " bytes" : "bytes " + text) + only;
}

std::string_view count_heading(profile::Kind kind) {
  return profile::is_of_mappings(kind) ? "ranges" : "samples";
}

std::string profile_heading(profile::Kind kind, std::string_view view, const Measure& total,
                            const Style& style, const Scope& scope, std::string_view notes) {
  const std::string when = scope.read ? ", " + text_of(*scope.read) : "";
  std::string title = fmt::format("{}{}, {}", text_of(scope, kind), when, view);
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  const std::string only = only_text(scope);
  std::string rest = only.empty() ? "" : "; " + only;
  if (profile::is_of_mappings(kind)) {
    rest += fmt::format(": {} exactly, in {}", total_figure(total).text(),
                        plural(total.samples, "range"));
  } else {
    rest += fmt::format(": {} from {}, {} intervals", total_figure(total).text(),
                        plural(total.samples, "sample"), level_text(style.level));
  }
  // Wrapped before it is painted: escapes take no columns. A break replaces a blank.
  const std::string text = wrap(title + rest, 0, style.width);
  std::string source = scope.asked ? "\n" + wrap(text_of(*scope.asked), 0, style.width) : "";
  if (!scope.lacks.empty()) source += "\n" + wrap(incomplete_text(scope.lacks), 0, style.width);
  const std::string open = open_text(total, scope);
  if (!open.empty()) source += "\n" + wrap(open, 0, style.width);
  if (!notes.empty()) source += "\n" + wrap_lines(notes, style.width);
  if (source.ends_with('\n')) source.pop_back();
  return fmt::format("{}{}{}\n\n", paint(style, Role::kHeading, text.substr(0, title.size())),
                     text.substr(title.size()), paint(style, Role::kFaint, source));
}

std::string open_text(const Measure& total, const Scope& scope, std::string_view where) {
  if (!(total.bytes.open > 0) || scope.open.empty()) return "";
  return fmt::format("open, {}: {} of {}", where, bound_bytes(total.bytes.open),
                     fmt::join(scope.open, ", and "));
}

std::string incomplete_text(const std::string& lacks) {
  if (lacks.empty()) return "";
  return fmt::format("Incomplete ({}): figures and upper limits cover only what was recorded.",
                     lacks);
}

std::string not_looked_at(double bytes, const Scope& scope) {
  if (!(bytes > 0) || scope.open.empty()) return "";
  return fmt::format("Not looked at, but may belong: {} of {}.\n", bound_bytes(bytes),
                     fmt::join(scope.open, ", and "));
}

std::string cut_stacks(bool is_at_limit) {
  constexpr const char* kStacks = "stacks that were cut";
  if (!is_at_limit) return kStacks;
  return fmt::format("{} (record with --max-frames {})", kStacks, vocabulary::kMostFrames);
}

std::string cut_note(double bytes, bool is_at_limit) {
  if (!(bytes > 0)) return "";
  return fmt::format("Upper limits of totals include {} of {}: what called them is not known.\n",
                     bound_bytes(bytes), cut_stacks(is_at_limit));
}

std::string nothing_sampled(profile::Kind kind, const Scope& scope) {
  if (profile::is_of_mappings(kind)) {
    return fmt::format("No mappings of the program's own ({}).\n", text_of(scope, kind));
  }
  if (scope.is_part()) return "No samples in this selection: it is below the limit above.\n";
  if (kind == profile::Kind::kAllocated) {
    return "No samples. Record with a smaller --interval.\n";
  }
  return fmt::format("No samples of this kind ({}). See --kind allocated.\n", kind_text(kind));
}

std::string profile_footer(std::string notes, std::optional<estimation::KnownTotal> calibrated_to,
                           bool is_split, const Style& style) {
  if (calibrated_to) {
    notes += fmt::format("Figures with at least {} samples are calibrated to the {} of {}.\n",
                         estimation::kSamplesToCalibrate,
                         calibrated_to->open == 0 ? "exact total" : "counted total",
                         counted_bytes(calibrated_to->bytes, calibrated_to->open));
  }
  if (is_split) notes += split_note();
  return notes.empty()
             ? notes
             : fmt::format("\n{}", paint(style, Role::kFaint, wrap_lines(notes, style.width)));
}

std::string split_note() {
  return "A quarter of the samples located the peak; the figures come from the others.\n";
}

}  // namespace geiger::present
