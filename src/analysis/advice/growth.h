// Functions that grow a container by allocating a larger block, copying, and freeing the old one.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::advice {

/// Functions of one container, and what to do to have it grow less often.
struct GrowthRule {
  std::string_view scope;      ///< In demangled names, "std::vector<"; empty: of C.
  std::string_view function;   ///< After it, or of C the beginning of the name.
  std::string_view container;  ///< "vector".
  std::string_view remedy;     ///< "call reserve() before it is filled".
};

/// The rule of a function; null: it grows nothing.
[[nodiscard]] const GrowthRule* growth_rule_of(std::string_view function);

/// Of realloc, by functions that no rule is about.
extern const GrowthRule kReallocRule;

/// Where in the source a stack allocates or frees, and for what.
struct Place {
  std::uint32_t label = profile::kNone;
  std::string_view file;   ///< Empty: not known.
  std::uint32_t line = 0;  ///< 0: not known.

  friend auto operator<=>(const Place&, const Place&) = default;
};

/// What the search needs of a stack.
struct StackFacts {
  Place place;                          ///< Of the frame to blame, but not of one that grows.
  const GrowthRule* growth = nullptr;   ///< If a container grows between it and the allocator.
  std::uint32_t leaf = profile::kNone;  ///< The innermost location.
  std::vector<std::uint32_t> callers;   ///< Labels of the first frames shown, the place's first.
};

/// The facts of every stack of a recording, found when asked for. Const but for that; the recording
/// outlives it.
class StackBook {
 public:
  explicit StackBook(const profile::Recording& recording);

  /// Requires a stack of the recording.
  [[nodiscard]] const StackFacts& operator[](std::uint32_t stack);
  /// The functions of own code that call the stack's place, the nearest first; not the outermost.
  [[nodiscard]] std::vector<std::uint32_t> own_callers(std::uint32_t stack);
  [[nodiscard]] const profile::Labels& labels() const { return shown_.labels(); }

 private:
  [[nodiscard]] StackFacts facts_of(std::uint32_t stack);

  const profile::Recording& recording_;
  profile::ShownPath shown_;
  std::vector<const GrowthRule*> rules_;  ///< By label.
  std::vector<bool> is_known_;            ///< By stack.
  std::vector<StackFacts> facts_;         ///< By stack.
  std::vector<std::uint32_t> path_;
};

}  // namespace geiger::advice
