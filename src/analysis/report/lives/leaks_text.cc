// `leaks` as text and JSON.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/naming/display_name.h"
#include "analysis/present/function_names.h"
#include "analysis/present/measure.h"
#include "analysis/present/recording_words.h"
#include "analysis/present/text.h"
#include "analysis/report/lives/leaks.h"
#include "analysis/report/lives/lifetimes.h"
#include "analysis/report/overview/summary.h"

namespace geiger::report {

namespace {

using profile::LeakVerdict;
using profile::Open;

/// Of a suspect; `geiger holders` shows the rest.
constexpr std::size_t kHoldersShown = 3;
/// Frames of a stack that evidence shows; the rest is counted.
constexpr std::size_t kFramesShown = 8;
constexpr std::size_t kFactIndent = 13;
constexpr std::size_t kItemIndent = kFactIndent + 2;
/// Of the large ones.
constexpr std::size_t kStoppedShown = 3;
/// Sites that are listed below an owner; the rest is counted.
constexpr std::size_t kSitesShown = 10;
/// Before a site that is not a suspect, and its figures.
constexpr std::size_t kLeastLead = 3;
constexpr std::size_t kFiguresIndent = 5;

std::string fact(std::string_view name, const std::string& value, const present::Style& style) {
  return fmt::format("   {}  {}\n", present::pad_right(name, kFactIndent - 5),
                     present::wrap(value, kFactIndent, style.width));
}

/// One of a list under a fact.
std::string item(const std::string& value, const present::Style& style) {
  return std::string(kFactIndent, ' ') + present::wrap(value, kItemIndent, style.width) + "\n";
}

std::string where_text(const LeakLine& line) {
  return line.where.empty() ? "" : fmt::format(" ({})", present::printable(line.where));
}

/// Columns before the name of a suspect, whose number is among `lines`, or of another site.
std::size_t lead_of(std::size_t lines) {
  return std::max(kLeastLead, std::to_string(lines).size() + 2);
}

/// The place of a site follows its name, unless the name needs the room.
bool has_room_for_where(const LeakLine& line, std::size_t room, const present::Style& style) {
  if (style.names == present::Names::kFull) return true;
  return present::columns_of(line.site.group.name) + present::columns_of(where_text(line)) <= room;
}

/// The name, where it is, then as much of the rest as fits.
std::string place(const LeakLine& line, std::size_t room, const present::Style& style) {
  std::string text = line.site.group.name;
  if (has_room_for_where(line, room, style)) text += where_text(line);
  const std::string& tail = line.site.group.detail;
  if (style.names == present::Names::kShort)
    return text + present::tail_within(tail, room, present::columns_of(text));
  return tail.empty() ? text : text + "  " + tail;
}

std::string live(const LeakLine& line) {
  return fmt::format("{}, {} of its allocations, {}", live_text(line),
                     present::figure(line.never_freed).text(),
                     present::plural(line.live.samples, "sample"));
}

std::string growth(const LeakLine& line) {
  return fmt::format("{} since {}; of {} since then {} still live", growth_rate(line),
                     present::duration(line.since), present::plural(line.site.since, "sample"),
                     present::exact_count(line.site.kept));
}

/// Why what it kept is not in place of what was there before.
std::string accusing_text(const profile::LateGrowth& late) {
  const std::string in_use = in_use_text(late);
  return late.by == profile::LateGrowth::By::kChunks ? in_use : in_use + ", and it kept more";
}

/// Which of the two tests is significant.
std::string evidence(const LeakLine& line) {
  const profile::LeakSite& site = line.site;
  if (site.late) return accusing_text(*site.late) + "; " + false_alarm_rate(site.q_value);
  std::string text;
  if (site.all.is_lasting) text = "its live bytes grow, " + present::p_equation(site.all.p_value);
  if (site.old.is_lasting) {
    const std::string age =
        site.old_from > 0 ? fmt::format("objects older than {} (95 % of those freed were younger)",
                                        present::duration(site.old_from))
                          : "objects that outlive 95 % of those freed of their size";
    text += fmt::format("{}{} keep accumulating, {}", text.empty() ? "" : "; ", age,
                        present::p_equation(site.old.p_value));
  }
  if (text.empty()) text = "no lasting growth";
  return site.is_tested ? text + "; " + false_alarm_rate(site.q_value) : text;
}

/// A function on a path, with all its frames in a row.
struct Step {
  std::string text;
  std::size_t frames = 1;
};

/// From the outermost caller on; recursion is one step.
std::vector<Step> steps_of(const LeakLine& line, bool with_places) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < line.path.size(); ++i) {
    std::string text = line.path[i];
    const std::string place = present::printable(line.path_places[i]);
    if (with_places && !place.empty()) text += fmt::format(" ({})", place);
    if (!steps.empty() && steps.back().text == text) {
      ++steps.back().frames;
    } else {
      steps.push_back({std::move(text)});
    }
  }
  return steps;
}

std::string joined(std::span<const Step> steps) {
  std::string text;
  for (const Step& step : steps) {
    text += (text.empty() ? "" : " › ") + step.text;
    if (step.frames > 1) text += fmt::format(" ×{}", step.frames);
  }
  return text;
}

/// From the outermost of the nearest callers to the function itself.
std::string short_path(const LeakLine& line) {
  const std::vector<Step> steps = steps_of(line, false);
  const std::size_t first = steps.size() - std::min(steps.size(), kFramesShown);
  std::size_t more = 0;
  for (std::size_t i = 0; i < first; ++i) more += steps[i].frames;
  return (more > 0 ? fmt::format("{} more › ", more) : "") +
         joined(std::span(steps).subspan(first));
}

/// From the outermost caller on, with the line of each.
std::string whole_path(const LeakLine& line) { return joined(steps_of(line, true)); }

/// Whole where another site of the same line has the same short path.
std::string path(const LeakLine& line, const LeaksReport& report) {
  std::string text = short_path(line);
  const bool is_ambiguous = std::ranges::any_of(report.lines, [&](const LeakLine& other) {
    return &other != &line && other.is_suspect() && name_and_place(other) == name_and_place(line) &&
           short_path(other) == text;
  });
  return is_ambiguous ? whole_path(line) : text;
}

/// What sets a site apart from those of the same line: the functions of its path that others do not
/// have, " via serve_file", or the lines of these; else its path.
std::string difference(const LeakLine& line, std::span<const LeakLine* const> alike,
                       const LeaksReport& report) {
  for (const bool with_places : {false, true}) {
    std::string own;
    for (const Step& step : steps_of(line, with_places)) {
      const bool is_common = std::ranges::all_of(alike, [&](const LeakLine* other) {
        return std::ranges::count(steps_of(*other, with_places), step.text, &Step::text) > 0;
      });
      if (!is_common) own += (own.empty() ? " via " : " › ") + step.text;
    }
    if (!own.empty()) return own;
  }
  return "; " + path(line, report);
}

/// What an owner explains: the largest, with their paths where names and lines are the same.
std::string sites_below(const OwnerLine& owner, const LeaksReport& report,
                        const present::Style& style) {
  std::vector<const LeakLine*> below;
  for (const LeakLine& line : report.lines) {
    if (line.site.owner == &owner - report.owners.data()) below.push_back(&line);
  }
  std::string out = fact("sites", sites_text(owner) + " grow", style);
  for (std::size_t i = 0; i < std::min(below.size(), kSitesShown); ++i) {
    const LeakLine& line = *below[i];
    std::vector<const LeakLine*> alike;
    std::ranges::copy_if(below, std::back_inserter(alike), [&](const LeakLine* other) {
      return name_and_place(*other) == name_and_place(line);
    });
    out += item(fmt::format("{}{}: {}, {}", name_and_place(line),
                            alike.size() > 1 ? difference(line, alike, report) : "",
                            live_text(line), growth_rate(line)),
                style);
  }
  if (below.size() <= kSitesShown) return out;
  return out + item(fmt::format("{} more", below.size() - kSitesShown), style);
}

/// Whether surely some of it is listed only by CPython's collector.
bool is_listed(const LeakLine* line) {
  return std::ranges::any_of(line->held, [](const HeldPart& part) {
    return part.hold == profile::Hold::kListed && part.live.bytes.interval.lo > 0;
  });
}

std::string suspect(std::size_t number, const LeakLine& line, const LeaksReport& report,
                    const present::Style& style) {
  const std::string lead = fmt::format("{}  ", number);
  const std::size_t room = style.width - lead.size();
  std::string out =
      lead + present::paint(style, present::Role::kWarning, place(line, room, style)) + "\n";
  if (!has_room_for_where(line, room, style))
    out += fact("where", present::printable(line.where), style);
  out += fact("live", live(line), style) + fact("growth", growth(line), style);
  if (line.site.oldest > 0) {
    out +=
        fact("oldest",
             present::duration(line.site.oldest) + ", of those allocated since the warm-up", style);
  }
  out += fact("evidence", evidence(line), style);
  if (!line.path.empty()) out += fact("path", path(line, report), style);
  std::string_view name = "held";
  for (const std::string& text : holders_texts(line)) {
    out += fact(std::exchange(name, ""), text, style);
  }
  if (is_listed(&line)) out += fact("remedy", std::string(present::kCollectorRemedy), style);
  if (const OwnerLine* const owner = report.owner_of(line))
    out += sites_below(*owner, report, style);
  return out + "\n";
}

/// Why a site is undecided.
std::string open_text(const LeakLine& line, const LeaksReport& report) {
  switch (line.site.open) {
    case Open::kSamples:
      return fmt::format("has {}, needs {} samples", line.site.kept, report.samples_needed);
    case Open::kSlowing:
      return "may or may not have slowed down";
    case Open::kAlone:
      return fmt::format("{} alone, but {} among {}", present::p_equation(line.site.p_value),
                         false_alarm_rate(line.site.q_value),
                         present::plural(report.tested, "site"));
    case Open::kTurnover:
    case Open::kChunks:
    case Open::kUnmeasured:
      return in_use_text(*line.site.late);
    case Open::kNothing:
      break;
  }
  return "";
}

/// Why a site is not suspect.
std::string clear_text(const LeakLine& line) {
  if (line.too_short > 0) {
    return fmt::format("; not judged: seen for only {}", present::duration(line.too_short));
  }
  const std::string most =
      fmt::format(", at most {} a second", present::bound_bytes(line.most_growth));
  if (line.stopped != 0) {
    return fmt::format("; clear: stopped growing at {}{}", present::duration(line.stopped), most);
  }
  return fmt::format("; clear: no {}{}",
                     line.site.all.bytes > 0 ? "significant growth" : "growth seen", most);
}

std::string other_site(const LeakLine& line, const LeaksReport& report,
                       const present::Style& style) {
  std::string figures = live_text(line);
  if (line.site.verdict == LeakVerdict::kUndecided) {
    if (line.too_short == 0) figures += ", growth " + growth_rate(line);
    figures += "; undecided: " + open_text(line, report);
  } else {
    figures += clear_text(line);
  }
  const std::size_t room = style.width - kLeastLead;
  if (!has_room_for_where(line, room, style)) figures += "; in " + present::printable(line.where);
  return fmt::format("   {}\n     {}\n", place(line, room, style),
                     present::wrap(figures, kFiguresIndent, style.width));
}

/// Columns for the name of a line of `room`: where it is goes elsewhere if the name needs them.
std::size_t columns_for_name(const LeakLine& line, std::size_t room) {
  const std::size_t where = present::columns_of(where_text(line));
  return present::columns_needed(line.site.group.name) + where <= room ? room - where : room;
}

/// `lines` with the names that the text shows, made distinct and fitted.
void name_lines(const std::vector<LeakLine*>& lines, profile::GroupBy by,
                const present::Style& style) {
  const bool is_stack = by == profile::GroupBy::kStack;
  const std::size_t room = style.width - lead_of(lines.size());
  std::vector<std::string> names;
  std::vector<naming::Named> functions;
  names.reserve(lines.size());
  for (const LeakLine* line : lines) names.push_back(present::printable(line->site.group.name));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const profile::LifetimeGroup& group = lines[i]->site.group;
    functions.push_back({.demangled = names[i],
                         .module = is_stack ? std::string_view() : group.detail,
                         .columns = columns_for_name(*lines[i], room),
                         .line = group.where.line});
  }
  if (style.names == present::Names::kShort) names = naming::distinct_names(functions);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    profile::LifetimeGroup& group = lines[i]->site.group;
    group.name = names[i];
    group.detail =
        is_stack ? present::callers_text(group.detail, style) : present::printable(group.detail);
    for (std::string& caller : lines[i]->path) {
      caller = present::function_text(caller, style.width - kFactIndent, style);
    }
  }
}

/// Whatever they grow by.
std::string unreachable_sites(const LeaksReport& report, const present::Style& style) {
  std::string out;
  for (const std::string& sentence : unreachable_sentences(report)) {
    out += present::wrap(sentence, 0, style.width) + "\n";
  }
  return out.empty() ? "" : out + "\n";
}

/// Large sites that are no suspects.
std::string stopped_sites(const LeaksReport& report, const present::Style& style) {
  std::string out;
  for (std::size_t i = 0; i < std::min(report.stopped.size(), kStoppedShown); ++i) {
    out += present::wrap(stopped_sentence(report.stopped[i]), 0, style.width) + "\n";
  }
  return out.empty() ? "" : out + "\n";
}

std::string text_of(const LeaksReport& report, const present::Style& style) {
  const bool is_warning = report.finding() != LeakFinding::kClear;
  std::string out =
      present::paint(style, is_warning ? present::Role::kWarning : present::Role::kHeading,
                     present::wrap(sentence(report), 0, style.width)) +
      "\n\n" + present::wrap(judged_heap(report), 0, style.width) + "\n\n";
  std::size_t number = 0;
  for (const LeakLine* line : report.accused()) out += suspect(++number, *line, report, style);
  out += unreachable_sites(report, style);
  if (!report.options.shows_all) out += stopped_sites(report, style);
  const auto is_other = [](const LeakLine& line) { return !line.is_suspect(); };
  const auto others = static_cast<std::uint64_t>(std::ranges::count_if(report.lines, is_other));
  if (report.options.shows_all && others > 0) {
    out += present::paint(style, present::Role::kHeading, "Other sites with live memory") + "\n";
    for (const LeakLine& line : report.lines) {
      if (is_other(line)) out += other_site(line, report, style);
    }
    const std::uint64_t more = report.undecided + report.clear + report.not_judged - others;
    if (more > 0) out += fmt::format("   {} more; --top 0 shows all\n", present::exact_count(more));
    out += "\n";
  }
  return out + leaks_footer(report, style);
}

}  // namespace

std::vector<std::string> unreachable_sentences(const LeaksReport& report) {
  std::vector<std::string> sentences;
  const std::size_t shown = std::min(report.unreachable.size(), kUnreachableNamed);
  for (std::size_t i = 0; i < shown; ++i) {
    sentences.push_back(unreachable_text(report.unreachable[i]) + ".");
  }
  if (const UnreachableRest& rest = report.unreachable_rest; rest.sites > 0) {
    sentences.push_back(fmt::format("{} of {} is unreachable too: geiger holders --top 0.",
                                    report::bytes_text(rest.live),
                                    present::plural(rest.sites, "other site")));
  }
  const bool is_said = std::ranges::any_of(report.accused(), is_listed);
  if (!is_said && report.listed.bytes.interval.lo > 0) {
    sentences.push_back(fmt::format("{} is garbage: {}.", report::bytes_text(report.listed),
                                    present::kCollectorRemedy));
  }
  return sentences;
}

std::vector<std::string> holders_texts(const LeakLine& line) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(line.held.size(), kHoldersShown); ++i) {
    texts.push_back(part_text(line.held[i]));
  }
  return texts;
}

std::string to_text(const LeaksReport& report, const present::Style& style) {
  LeaksReport named = report;
  const profile::GroupBy by = present::named_like(report.options.search.by);
  std::vector<LeakLine*> shown;
  for (OwnerLine& owner : named.owners) shown.push_back(&owner.line);
  for (std::vector<LeakLine>* lines : {&named.lines, &named.stopped}) {
    for (LeakLine& line : *lines) shown.push_back(&line);
  }
  name_lines(shown, by, style);
  const auto function = [](const LeakLine& line) -> const std::string& {
    return line.site.group.name;
  };
  const std::string note =
      present::unnamed_note(report.lines, function, style.width, report.absent);
  return text_of(named, style) +
         (note.empty() ? "" : present::paint(style, present::Role::kFaint, note));
}

}  // namespace geiger::report

namespace geiger::present {

using profile::LateGrowth;
using profile::LeakGrowth;

static const Fields<LeakGrowth>& fields_of(Of<LeakGrowth> /*type*/) {
  static const auto kFields =
      Fields<LeakGrowth>("growth", "Bytes since the warm-up.")
          .field("bytes", "", &LeakGrowth::bytes)
          .field("lo", "null where it is not known",
                 [](const LeakGrowth& it) { return it.interval.lo; })
          .or_null()
          .field("hi", "", [](const LeakGrowth& it) { return it.interval.hi; })
          .field("p_value", "", &LeakGrowth::p_value)
          .or_null()
          .field("is_lasting", "not slowing down", &LeakGrowth::is_lasting);
  return kFields;
}

static const Fields<LateGrowth>& fields_of(Of<LateGrowth> /*type*/) {
  static const auto kFields =
      Fields<LateGrowth>()
          .field("by",
                 "what bounds it: the memory at the start, the chunks of its sizes in use, or what "
                 "its "
                 "process inherited by fork",
                 [](const LateGrowth& it) { return report::name_of(it.by); })
          .one_of({"nothing", "memory", "chunks"})
          .field("at_least", "bytes that it grew by at least", &LateGrowth::at_least)
          .or_null()
          .field("seconds", "that it grew in", &LateGrowth::seconds)
          .field("in_use_from",
                 "bytes at the start of that time; `memory`: of the recording; `inherited`: at the "
                 "fork, at most",
                 &LateGrowth::in_use_from)
          .field("in_use_to", "bytes at its end; `memory`: 0", &LateGrowth::in_use_to)
          .field("chunk_bytes", "0: of several sizes", &LateGrowth::chunk)
          .field("growing_chunk_bytes", "a size of it that grows; 0: none",
                 [](const LateGrowth& it) { return it.growing.empty() ? 0 : it.growing.front(); })
          .field("decided_after_seconds",
                 "of recording, which find a leak of a tenth of what it kept in four of five cases",
                 &LateGrowth::decided_after);
  return kFields;
}

}  // namespace geiger::present

namespace geiger::report {

using present::Fields;
using present::InRecording;
using present::Of;
using profile::GrowingChunks;
using profile::LateGrowth;
using profile::LeakSite;

std::string_view name_of(profile::LeakVerdict verdict) {
  constexpr std::string_view kNames[] = {"suspect", "undecided", "clear"};
  return present::name_among(kNames, verdict);
}

std::string_view name_of(profile::Open open) {
  constexpr std::string_view kNames[] = {"",         "samples", "slowing",   "alone",
                                         "turnover", "chunks",  "unmeasured"};
  return present::name_among(kNames, open);
}

std::string_view name_of(LateGrowth::By by) {
  constexpr std::string_view kNames[] = {"nothing", "memory", "chunks", "inherited"};
  return present::name_among(kNames, by);
}

std::string_view name_of(LeakFinding finding) {
  constexpr std::string_view kNames[] = {"suspects", "undecided", "clear"};
  return present::name_among(kNames, finding);
}

std::string_view name_of(JudgedInstant::Why why) {
  constexpr std::string_view kNames[] = {"end", "before_teardown", "given", "before_finalization"};
  return present::name_among(kNames, why);
}

namespace {

template <typename Enum>
std::vector<std::string_view> names() {
  return present::texts_of<Enum>([](Enum value) { return name_of(value); });
}

/// A site with what its fields need of the others.
struct SiteRow {
  const LeakLine& it;
  const LeaksReport& report;
  const profile::Recording& recording;
};

std::vector<SiteRow> leak_sites_of(const InRecording<LeaksReport>& of) {
  std::vector<SiteRow> rows;
  for (const LeakLine& line : of.it.lines) rows.push_back({line, of.it, of.recording});
  return rows;
}

const Fields<SiteRow>& fields_of(Of<SiteRow> /*type*/) {
  const auto of = [](auto LeakSite::*member) {
    return [member](const LeakLine& it) { return it.site.*member; };
  };
  static const auto kFields =
      Fields<SiteRow>("leak_site")
          .inlined([](const SiteRow& row) {
            const profile::GroupBy by = present::named_like(row.report.options.search.by);
            return present::Named{row.it.site.group.name, present::is_named_by_functions(by)};
          })
          .field("detail", "as rows of `table` have it",
                 [](const LeakLine& it) { return it.site.group.detail; })
          .inlined([](const LeakLine& it) { return it.site.group.where; })
          .field("verdict", "of the site alone; `not_judged`: clear, but seen for too short a time",
                 [](const LeakLine& it) {
                   const bool is_judged =
                       it.too_short == 0 || it.site.verdict != LeakVerdict::kClear;
                   return is_judged ? name_of(it.site.verdict) : "not_judged";
                 })
          .one_of({"suspect", "undecided", "clear", "not_judged"})
          .field("live", "at the judged instant", &LeakLine::live)
          .field("never_freed", "of what it allocated", &LeakLine::never_freed)
          .field("held", "what holds what is live, if that was looked for",
                 [](const LeakLine& it) { return present::if_true(!it.held.empty(), it.held); })
          .field("growth", "of all that is live", of(&LeakSite::all))
          .field("growth_of_old", "of what is older than `old_from_ns`", of(&LeakSite::old))
          .field("bytes_per_second", "",
                 [](const LeakLine& it) {
                   return present::Share{it.rate.value, it.rate.interval};
                 })
          .field("where", "file:line of the named function",
                 [](const LeakLine& it) { return present::if_true(!it.where.empty(), it.where); })
          .field("since_ns", "end of the warm-up, after the start", &LeakLine::since)
          .field("seconds", "after the warm-up", of(&LeakSite::seconds))
          .field("oldest_ns", "age of the oldest live object since the warm-up",
                 of(&LeakSite::oldest))
          .field("old_from_ns", "0: that of the size class, or unknown", of(&LeakSite::old_from))
          .field("samples_since_warm_up", "", of(&LeakSite::since))
          .field("samples_kept", "of these, alive at the judged instant", of(&LeakSite::kept))
          .field("is_tested", "it has samples enough for any verdict", of(&LeakSite::is_tested))
          .field("late", "with objects from before the recording, whose frees are not seen",
                 of(&LeakSite::late))
          .field("open", "of undecided ones: what a verdict is missing",
                 [](const LeakLine& it) {
                   return present::if_true(it.site.open != profile::Open::kNothing,
                                           name_of(it.site.open));
                 })
          .one_of(names<profile::Open>())
          .field("p_value", "", of(&LeakSite::p_value))
          .or_null()
          .field("q_value", "adjusted for all sites tested", of(&LeakSite::q_value))
          .or_null()
          .field("owner", "index into `owners`: it is one of its sites that grow",
                 [](const LeakLine& it) {
                   return present::if_true(it.site.owner != profile::kNone, it.site.owner);
                 })
          .field("stopped_ns",
                 "of large ones that are clear: it did not grow any more from then on, after the "
                 "start",
                 [](const LeakLine& it) { return present::if_true(it.stopped != 0, it.stopped); })
          .inlined([](const SiteRow& row) {
            return present::stack_of(row.recording, row.it.site.group.stack);
          });
  return kFields;
}

/// A function that explains sites, with what its fields need of the others.
struct OwnerRow {
  const OwnerLine& it;
  SiteRow whole;
};

std::vector<OwnerRow> leak_owners_of(const InRecording<LeaksReport>& of) {
  std::vector<OwnerRow> rows;
  for (const OwnerLine& owner : of.it.owners) {
    rows.push_back({owner, {owner.line, of.it, of.recording}});
  }
  return rows;
}

const Fields<OwnerRow>& fields_of(Of<OwnerRow> /*type*/) {
  static const auto kFields = Fields<OwnerRow>("leak_owner")
                                  .field("site_count", "with something live", &OwnerLine::sites)
                                  .field("growing_site_count", "of them", &OwnerLine::accused)
                                  .inlined(&OwnerRow::whole);
  return kFields;
}

struct ChunksOf {
  const GrowingChunks& it;
  std::uint32_t pid;
};

const Fields<ChunksOf>& fields_of(Of<ChunksOf> /*type*/) {
  static const auto kFields =
      Fields<ChunksOf>()
          .field("pid", "", &ChunksOf::pid)
          .field("chunk_bytes", "the size of one", &GrowingChunks::chunk)
          .field("bytes", "that they grew by", &GrowingChunks::bytes)
          .field("lo", "by the program's scatter",
                 [](const GrowingChunks& it) { return it.interval.lo; })
          .field("hi", "", [](const GrowingChunks& it) { return it.interval.hi; })
          .field("seconds", "", &GrowingChunks::seconds)
          .field("p_value", "", &GrowingChunks::p_value)
          .field("q_value", "", &GrowingChunks::q_value);
  return kFields;
}

std::vector<ChunksOf> growing_in(const InRecording<LeaksReport>& of) {
  std::vector<ChunksOf> all;
  for (const GrowingChunks& chunks : of.it.growing) {
    all.push_back({chunks, of.recording.processes[chunks.process].pid});
  }
  return all;
}

struct JudgedOf {
  const JudgedInstant& it;
  const LeaksOptions& options;
};

const Fields<JudgedOf>& fields_of(Of<JudgedOf> /*type*/) {
  static const auto kFields =
      Fields<JudgedOf>()
          .field("why", "", [](const JudgedInstant& it) { return name_of(it.why); })
          .one_of(names<JudgedInstant::Why>())
          .field("after_start_ns", "in the process with the largest heap then",
                 &JudgedInstant::after_start)
          .field("before_end_ns", "of that process", &JudgedInstant::before_end)
          .field("processes", "judged before their final frees", &JudgedInstant::processes)
          .field("until", "as asked",
                 [](const JudgedOf& it) {
                   const auto& until = it.options.until;
                   return until ? std::optional(until->text) : std::nullopt;
                 })
          .field("freed_from_ns",
                 "from then on most of the heap was freed, before the judged instant",
                 &JudgedInstant::freed_from)
          .field("quiet_from_ns",
                 "when the only process allocated last, if it then went on for a while: growth is "
                 "measured up to that",
                 &JudgedInstant::quiet_from);
  return kFields;
}

}  // namespace

static const Fields<UnreachableRest>& fields_of(Of<UnreachableRest> /*type*/) {
  static const auto kFields = Fields<UnreachableRest>()
                                  .field("site_count", "", &UnreachableRest::sites)
                                  .inlined(&UnreachableRest::live);
  return kFields;
}

static const Fields<SuppressedLine>& fields_of(Of<SuppressedLine> /*type*/) {
  static const auto kFields = Fields<SuppressedLine>("suppressed")
                                  .field("pattern", "", &SuppressedLine::pattern)
                                  .inlined(&SuppressedLine::live);
  return kFields;
}

const Fields<InRecording<LeaksReport>>& fields_of(Of<InRecording<LeaksReport>> /*type*/) {
  using Document = InRecording<LeaksReport>;
  const auto of = [](auto profile::LeakOptions::*member) {
    return [member](const LeaksReport& it) { return it.options.search.*member; };
  };
  static const auto kFields =
      Fields<Document>("leaks")
          .field("level", "confidence level of all intervals", of(&profile::LeakOptions::level))
          .field("q", "accepted share of false suspects", of(&profile::LeakOptions::q))
          .field("warm_up", "share of the time not judged", of(&profile::LeakOptions::warm_up))
          .field("by", "what a site is",
                 [](const LeaksReport& it) { return name_of(it.options.search.by); })
          .one_of({"function", "stack"})
          .inlined([](const LeaksReport& it) { return it.options.scope; })
          .field("suspects",
                 "sites with something live, those of `owners` that are suspects included",
                 &LeaksReport::suspects)
          .field("undecided", "sites with something live", &LeaksReport::undecided)
          .field("clear", "sites with something live", &LeaksReport::clear)
          .field("not_judged", "clear sites that were seen for too short a time",
                 &LeaksReport::not_judged)
          .field("tested",
                 "sites with samples enough for any verdict, those that freed everything included: "
                 "`q_value` is adjusted over them",
                 &LeaksReport::tested)
          .field("may_grow",
                 "the largest upper limit of what a clear site leaked, in bytes a second",
                 &LeaksReport::may_grow)
          .field("may_have_leaked",
                 "at most so many bytes did a clear site leak since the warm-up, or does one "
                 "without samples hold",
                 &LeaksReport::may_have_leaked)
          .field("can_be_clear",
                 "`may_have_leaked` is at most half of what is live: else `finding` is not `clear`",
                 &LeaksReport::can_be_clear)
          .field("samples_needed", "samples from which on a site is tested",
                 &LeaksReport::samples_needed)
          .field("finding", "`undecided`: no suspects, but a leak may be hidden",
                 [](const LeaksReport& it) { return name_of(it.finding()); })
          .one_of(names<LeakFinding>())
          .field("missing", "why samples are missing, among which a leak may be",
                 [](const LeaksReport& it) {
                   return present::if_true(!it.missing.empty(), it.missing);
                 })
          .field("judged", "which heap; times are since the start of the recording",
                 [](const LeaksReport& it) {
                   return JudgedOf{it.judged, it.options};
                 })
          .field("live", "all that is searched, at the judged instant", &LeaksReport::live)
          .field("live_at_end", "the same at the end", &LeaksReport::live_at_end)
          .field("owners",
                 "functions of the program's own code in place of several sites that grow, each "
                 "with all that is below it as one site; `undecided`: which of these grow is not "
                 "known",
                 &leak_owners_of)
          .field("sites",
                 "suspects, undecided and those of `owners`, with `--all` every site, by verdict "
                 "and growth; clear ones by what is live",
                 &leak_sites_of)
          .field("small_sites", "sites of too few samples as one, if they grow together",
                 [](const Document& it) -> std::optional<SiteRow> {
                   if (!it.it.small) return std::nullopt;
                   return SiteRow{*it.it.small, it.it, it.recording};
                 })
          .field(
              "unreachable",
              "sites of which memory surely was unreachable when that was looked for, with these "
              "parts",
              [](const LeaksReport& it) {
                return present::if_true(!it.unreachable.empty(), it.unreachable);
              })
          .field("unreachable_rest",
                 "unreachable memory of all but the five sites with most, if there is any",
                 [](const LeaksReport& it) {
                   return present::if_true(it.unreachable_rest.sites > 0, it.unreachable_rest);
                 })
          .field("listed", "what only CPython's collector can free, if that was looked for",
                 [](const LeaksReport& it) {
                   return present::if_true(it.listed.samples > 0, it.listed);
                 })
          .field("growing_chunks",
                 "of processes recorded late: chunks in use that grow and belong to no suspect",
                 &growing_in)
          .field("walk_fault", "why chunks in use could not be counted, the last time",
                 [](const LeaksReport& it) {
                   return present::if_true(!it.walk_fault.empty(), it.walk_fault);
                 })
          .field("suppressed", "suppressions that matched, with what is live of them",
                 &LeaksReport::suppressed);
  return kFields;
}

std::string to_json(const LeaksReport& report, const profile::Recording& recording) {
  return present::document("leaks", report, recording);
}

}  // namespace geiger::report
