#include "query/kind_options.h"

#include <fmt/format.h>

namespace geiger::query {
namespace {

using profile::About;
using profile::AtInstant;
using profile::GroupBy;
using profile::Kind;
using profile::KindRules;

constexpr const char* kWholeKindsHelp =
    "allocated: everything (default);\n"
    "live: not freed at the end, or at --at;\n"
    "peak: live at the moment of the largest heap";
constexpr const char* kMappingKindsHelp =
    ";\nmapped, mapped-peak, mapped-total, mapped-files, reserved:\n"
    "the program's own mmap calls";
constexpr const char* kPartKindsHelp =
    ";\nresident, swapped, untouched: live objects by the state of\n"
    "their pages at the RSS maximum;\n"
    "usable, live-usable: sizes including allocator overhead;\n"
    "overhead, live-overhead: allocator overhead (rounding);\n"
    "stranded: free memory held by live objects (run --fragmentation)";

bool is_known(About about, Kinds kinds) {
  if (about == About::kObjects) return true;
  return kinds == Kinds::kAll || (about == About::kMappings && kinds == Kinds::kWithMappings);
}

base::Outcome<void> check_instant(const KindRules& rules, const std::string& at) {
  const bool is_of_mappings = rules.about == About::kMappings;
  if (is_of_mappings && at == "peak") {
    return base::Failure{"for the largest total use --kind mapped-peak"};
  }
  switch (rules.at) {
    case AtInstant::kAny:
      return {};
    case AtInstant::kSnapshot:
      if (at == "maximum" || at == "last") return {};
      return base::Failure{"--at for this kind: maximum or last"};
    case AtInstant::kNever:
      break;
  }
  return base::Failure{is_of_mappings ? "for mappings at an instant use --kind mapped"
                                      : "--at applies to live memory: use --kind live"};
}

bool is_of_allocations(GroupBy by) {
  return by == GroupBy::kHeap || by == GroupBy::kAlignment || by == GroupBy::kLifetime ||
         by == GroupBy::kType || by == GroupBy::kLabel;
}

}  // namespace

std::vector<std::string> names_of(Kinds kinds) {
  std::vector<std::string> names;
  for (const KindRules& rules : profile::kKindRules) {
    if (is_known(rules.about, kinds)) names.emplace_back(rules.name);
  }
  return names;
}

std::string help_of(Kinds kinds) {
  std::string help = kWholeKindsHelp;
  if (is_known(About::kSnapshots, kinds)) help += kPartKindsHelp;
  if (is_known(About::kMappings, kinds)) help += kMappingKindsHelp;
  return help;
}

base::Outcome<void> check_question(const KindQuestion& question) {
  if (!question.at.empty() && question.has_window) {
    return base::Failure{"--at cannot be combined with --from or --to"};
  }
  // Without --kind, --at is of what was live, and a window of what was allocated.
  const Kind meant = question.at.empty() ? Kind::kAllocated : Kind::kLiveAtEnd;
  const KindRules& rules = profile::rules_of(question.kind.value_or(meant));
  const bool is_of_mappings = rules.about == About::kMappings;
  if (question.has_filter && is_of_mappings) return base::Failure{std::string(profile::kNoFilters)};
  if (!question.at.empty()) return check_instant(rules, question.at);
  if (!question.has_window || rules.takes_window) return {};
  return base::Failure{is_of_mappings
                           ? "for mappings made in a window use --kind mapped-total"
                           : "--from and --to select allocations; with --kind live use --at WHEN"};
}

base::Outcome<void> check_grouping(Kind kind, GroupBy by) {
  if (!is_of_allocations(by) || !profile::is_of_mappings(kind)) return {};
  return base::Failure{"--by: mappings have no heap, lifetime, type, label or alignment"};
}

base::Outcome<void> check_lives(Kind kind, const char* format) {
  if (kind == Kind::kAllocated) return {};
  return base::Failure{fmt::format(
      "{}: it follows objects from allocation to free, so --kind does not apply", format)};
}

}  // namespace geiger::query
