#include "analysis/report/scope.h"

#include <fmt/format.h>

#include "analysis/report/format.h"
#include "analysis/report/heading.h"
#include "analysis/report/text.h"

namespace geiger::report {
namespace {

void write_asked(JsonWriter& json, const AskedInside& asked) {
  json.key("by_mincore").begin_object().field("processes", asked.processes);
  json.field("first_ns", asked.first).field("last_ns", asked.last);
  json.field("answered", asked.answered).field("unanswered", asked.unanswered).end_object();
}

}  // namespace

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

std::string asked_text(const Scope& scope) {
  if (!scope.asked) return "";
  const AskedInside& asked = *scope.asked;
  std::string text = asked.processes == 1 ? "by mincore, asked inside the process at "
                                          : fmt::format("by mincore, asked inside {} processes at ",
                                                        asked.processes);
  text += duration(asked.first);
  if (asked.last != asked.first) text += " to " + duration(asked.last);
  if (asked.unanswered == 0) return text;
  return text + fmt::format("; {} of {} live then had no answer and are left out",
                            exact_count(asked.unanswered),
                            plural(asked.answered + asked.unanswered, "sample"));
}

void write_field(JsonWriter& json, const Scope& scope) {
  if (scope.asked) write_asked(json, *scope.asked);
  if (!scope.is_part()) return;
  json.key("selection").begin_object().field("when", scope.when);
  if (scope.from) json.field("from_ns", *scope.from);
  if (scope.to) json.field("to_ns", *scope.to);
  if (scope.at) json.field("at_ns", *scope.at);
  json.field("is_halved", scope.is_halved);
  json.key("only").begin_array();
  for (const auto& [what, which] : scope.only) {
    json.begin_object().field("what", what).field("which", which).end_object();
  }
  json.end_array().end_object();
}

}  // namespace geiger::report
