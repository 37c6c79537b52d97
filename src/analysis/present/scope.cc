#include "analysis/present/scope.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/present/format.h"
#include "analysis/present/text.h"
#include "analysis/profile/peak.h"

namespace geiger::present {

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

void write_field(JsonWriter& json, const Scope& scope) {
  write_field(json, scope.asked);
  write_field(json, scope.read);
  write_field(json, scope.fleet);
  if (!scope.is_part() && scope.lacks.empty()) return;
  json.key("selection").begin_object().field("when", scope.when);
  if (scope.from) json.field("from_ns", *scope.from);
  if (scope.to) json.field("to_ns", *scope.to);
  if (scope.at) json.field("at_ns", *scope.at);
  json.field("is_split", scope.is_split);
  json.objects("only", scope.only,
               [&](const auto& one) { json.field("what", one.first).field("which", one.second); });
  if (!scope.lacks.empty()) json.field("lacks", scope.lacks);
  json.array("open", scope.open, [&](const std::string& why) { json.string(why); });
  json.end_object();
}

}  // namespace geiger::present
