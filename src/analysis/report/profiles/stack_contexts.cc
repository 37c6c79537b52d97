#include "analysis/report/profiles/stack_contexts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/naming/display_name.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/shown_path.h"

namespace geiger::report {
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
