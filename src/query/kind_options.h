// What --kind takes and allows: the only place that refuses a combination with
// --kind. Which kind takes what is in profile/kind_rules.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/profile/groups/view.h"
#include "analysis/profile/kind_rules.h"
#include "base/outcome.h"

namespace geiger::query {

/// Which kinds a verb accepts: those of whole objects, also those of mappings
/// (profile::is_of_mappings), or also those of parts of objects (profile::is_measured).
enum class Kinds : std::uint8_t { kOfWholeObjects, kWithMappings, kAll };

/// The names of the kinds, in the order of the help.
[[nodiscard]] std::vector<std::string> names_of(Kinds kinds);
/// Explains the kinds, for the help of --kind.
[[nodiscard]] std::string help_of(Kinds kinds);

/// The options that a command line combines with a kind.
struct KindQuestion {
  std::optional<profile::Kind> kind;  ///< As typed.
  std::string at;
  bool has_window = false;
  bool has_filter = false;  ///< One of objects, or a heap.
};

/// Fails where the kind does not allow that.
base::Outcome<void> check_question(const KindQuestion& question);

/// Fails where rows of the kind cannot be grouped so.
base::Outcome<void> check_grouping(profile::Kind kind, profile::GroupBy by);

/// Fails where a format that follows objects from allocation to free cannot show this kind.
base::Outcome<void> check_lives(profile::Kind kind, const char* format);

}  // namespace geiger::query
