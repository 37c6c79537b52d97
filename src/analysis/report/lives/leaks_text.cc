#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/naming/display_name.h"
#include "analysis/present/function_names.h"
#include "analysis/present/text.h"
#include "analysis/present/unnamed.h"
#include "analysis/report/lives/leaks.h"
#include "analysis/report/lives/leaks_sentences.h"
#include "analysis/report/lives/lifetimes.h"

namespace geiger::report {
namespace {

using profile::LeakVerdict;
using profile::Open;

/// Frames of a stack that evidence shows; the rest is counted.
constexpr std::size_t kFramesShown = 8;
constexpr std::size_t kFactIndent = 13;
/// Before a site that is not a suspect, and its figures.
constexpr std::size_t kLeastLead = 3;
constexpr std::size_t kFiguresIndent = 5;

std::string fact(std::string_view name, const std::string& value, const present::Style& style) {
  return fmt::format("   {}  {}\n", present::pad_right(name, kFactIndent - 5),
                     present::wrap(value, kFactIndent, style.width));
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
  return fmt::format("{}, {} of its allocations, {}",
                     present::figure(line.live.bytes, present::Quantity::kBytes).text(),
                     present::figure(line.never_freed).text(),
                     present::plural(line.live.samples, "sample"));
}

std::string growth(const LeakLine& line) {
  return fmt::format("{} since {}; of {} since then {} still live", growth_rate(line),
                     present::duration(line.since), present::plural(line.site.since, "sample"),
                     present::exact_count(line.site.kept));
}

/// Which of the two tests is significant.
std::string evidence(const LeakLine& line) {
  const profile::LeakSite& site = line.site;
  if (site.late) return in_use_text(*site.late) + "; " + q_equation(site.q_value);
  std::string text;
  if (site.all.is_lasting) text = "its live bytes grow, " + present::p_equation(site.all.p_value);
  if (site.old.is_lasting) {
    const std::string age =
        site.old_from > 0 ? fmt::format("objects older than {} (95 % of those freed were younger)",
                                        present::duration(site.old_from))
                          : "objects older than 95 % of those freed of their size";
    text += fmt::format("{}{} grow, {}", text.empty() ? "" : "; ", age,
                        present::p_equation(site.old.p_value));
  }
  if (text.empty()) text = "no lasting growth";
  return site.is_tested ? text + "; " + q_equation(site.q_value) : text;
}

/// From the outermost of the nearest callers to the function itself.
std::string short_path(const LeakLine& line) {
  const std::size_t shown = std::min(line.path.size(), kFramesShown);
  const std::size_t first = line.path.size() - shown;
  std::string text = first > 0 ? fmt::format("{} more", first) : "";
  for (std::size_t i = first; i < line.path.size(); ++i) {
    text += (text.empty() ? "" : " › ") + line.path[i];
  }
  return text;
}

/// From the outermost caller on, with the line of each.
std::string whole_path(const LeakLine& line) {
  std::string text;
  for (std::size_t i = 0; i < line.path.size(); ++i) {
    text += (text.empty() ? "" : " › ") + line.path[i];
    const std::string place = present::printable(line.path_places[i]);
    if (!place.empty()) text += fmt::format(" ({})", place);
  }
  return text;
}

/// Whole where another suspect of the same line has the same short path.
std::string path(const LeakLine& line, const LeaksReport& report) {
  std::string text = short_path(line);
  const bool is_ambiguous = std::ranges::any_of(report.lines, [&](const LeakLine& other) {
    return &other != &line && other.site.verdict == LeakVerdict::kSuspect &&
           name_and_place(other) == name_and_place(line) && short_path(other) == text;
  });
  return is_ambiguous ? whole_path(line) : text;
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
      return fmt::format(
          "p = {} alone, but q = {} among {}", present::p_value_text(line.site.p_value),
          present::p_value_text(line.site.q_value), present::plural(report.tested, "site"));
    case Open::kTurnover:
    case Open::kChunks:
    case Open::kUnmeasured:
      return in_use_text(*line.site.late);
    case Open::kNothing:
      break;
  }
  return "";
}

std::string other_site(const LeakLine& line, const LeaksReport& report,
                       const present::Style& style) {
  std::string note = std::string(name_of(line.site.verdict));
  if (line.site.verdict == LeakVerdict::kUndecided) {
    note += ": " + open_text(line, report);
  }
  const std::size_t room = style.width - kLeastLead;
  if (!has_room_for_where(line, room, style)) note += "; in " + present::printable(line.where);
  const std::string figures = fmt::format(
      "{}, growth {}; {}", present::figure(line.live.bytes, present::Quantity::kBytes).text(),
      growth_rate(line), note);
  return fmt::format("   {}\n     {}\n", place(line, room, style),
                     present::wrap(figures, kFiguresIndent, style.width));
}

/// Columns for the name of a line of `room`: where it is goes elsewhere if the name needs them.
std::size_t columns_for_name(const LeakLine& line, std::size_t room) {
  const std::size_t where = present::columns_of(where_text(line));
  return present::columns_needed(line.site.group.name) + where <= room ? room - where : room;
}

/// `lines` with the names that the text shows, made distinct and fitted.
void name_lines(std::vector<LeakLine>& lines, profile::GroupBy by, const present::Style& style) {
  const bool is_stack = by == profile::GroupBy::kStack;
  const std::size_t room = style.width - lead_of(lines.size());
  std::vector<std::string> names;
  std::vector<naming::Named> functions;
  names.reserve(lines.size());
  for (const LeakLine& line : lines) names.push_back(present::printable(line.site.group.name));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const profile::LifetimeGroup& group = lines[i].site.group;
    functions.push_back({.demangled = names[i],
                         .module = is_stack ? std::string_view() : group.detail,
                         .columns = columns_for_name(lines[i], room),
                         .line = group.where.line});
  }
  if (style.names == present::Names::kShort) names = naming::distinct_names(functions);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    profile::LifetimeGroup& group = lines[i].site.group;
    group.name = names[i];
    group.detail =
        is_stack ? present::callers_text(group.detail, style) : present::printable(group.detail);
    for (std::string& caller : lines[i].path) {
      caller = present::function_text(caller, style.width - kFactIndent, style);
    }
  }
}

std::string text_of(const LeaksReport& report, const present::Style& style) {
  const bool is_warning = report.finding() != LeakFinding::kClear;
  std::string out =
      present::paint(style, is_warning ? present::Role::kWarning : present::Role::kHeading,
                     present::wrap(sentence(report), 0, style.width)) +
      "\n\n" + present::wrap(judged_heap(report), 0, style.width) + "\n\n";
  std::size_t number = 0;
  for (const LeakLine& line : report.lines) {
    if (line.site.verdict == LeakVerdict::kSuspect) out += suspect(++number, line, report, style);
  }
  if (report.options.shows_all && report.lines.size() > number) {
    out += present::paint(style, present::Role::kHeading, "Other sites with live memory") + "\n";
    for (const LeakLine& line : report.lines) {
      if (line.site.verdict != LeakVerdict::kSuspect) out += other_site(line, report, style);
    }
    out += "\n";
  }
  return out + leaks_footer(report, style);
}

}  // namespace

std::string to_text(const LeaksReport& report, const present::Style& style) {
  LeaksReport named = report;
  name_lines(named.lines, present::named_like(report.options.search.by), style);
  const auto function = [](const LeakLine& line) -> const std::string& {
    return line.site.group.name;
  };
  const std::string note = present::unnamed_note(report.lines, function, style.width);
  return text_of(named, style) +
         (note.empty() ? "" : present::paint(style, present::Role::kFaint, note));
}

}  // namespace geiger::report
