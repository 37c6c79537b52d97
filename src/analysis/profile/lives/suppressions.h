// Which leaks are known and accepted: suppression files as LeakSanitizer reads them.
//
//   # comment
//   leak:libfontconfig       any function, module or source file that contains this
//   leak:^main$              the whole name
//   leak:g_*_type_register   * stands for any characters
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile/recording.h"
#include "base/outcome.h"

namespace geiger::profile {

/// A part of a name: substring, with * for any characters, ^ for its beginning
/// and $ for its end.
[[nodiscard]] bool matches_suppression(std::string_view pattern, std::string_view name);

class Suppressions {
 public:
  /// Reads lines "leak:PATTERN"; blank ones and those that begin with # say nothing. The reason of
  /// a failure begins with the number of its line, "3: ".
  static base::Outcome<Suppressions> parse(std::string_view text);

  [[nodiscard]] bool is_empty() const { return patterns_.empty(); }

  /// Index of the first pattern that a frame of the stack matches: by function, by the
  /// path of its module or by its source file. kNone: none does.
  [[nodiscard]] std::uint32_t match(const Recording& recording, std::uint32_t stack) const;

  [[nodiscard]] const std::string& pattern(std::uint32_t index) const { return patterns_[index]; }
  [[nodiscard]] std::size_t size() const { return patterns_.size(); }

 private:
  std::vector<std::string> patterns_;
};

}  // namespace geiger::profile
