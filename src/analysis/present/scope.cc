#include "analysis/present/scope.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/present/format.h"
#include "analysis/present/text.h"
#include "analysis/profile/peak.h"

namespace geiger::present {

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
  std::size_t all = 0, left = 0;
  for (std::uint32_t i = 0; i < there.size(); ++i) {
    all += is_chosen(i) ? 1 : 0;
    left += is_chosen(i) && there[i] ? 1 : 0;
  }
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

}  // namespace geiger::present
