#include "analysis/present/scope.h"

#include <fmt/format.h>

#include "analysis/present/text.h"

namespace geiger::present {

std::string text_of(const Scope& scope, profile::Kind kind) {
  return scope.when.empty() ? std::string(kind_text(kind)) : printable(scope.when);
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
  if (!scope.is_part()) return;
  json.key("selection").begin_object().field("when", scope.when);
  if (scope.from) json.field("from_ns", *scope.from);
  if (scope.to) json.field("to_ns", *scope.to);
  if (scope.at) json.field("at_ns", *scope.at);
  json.field("is_split", scope.is_split);
  json.objects("only", scope.only,
               [&](const auto& one) { json.field("what", one.first).field("which", one.second); });
  json.array("open", scope.open, [&](const std::string& why) { json.string(why); });
  json.end_object();
}

}  // namespace geiger::present
