// The types of the objects of a recording: as the program named them through the API, else
// from the frames next to the allocation (type_rules.h), else unknown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/profile/recording.h"

namespace geiger::profile {

inline constexpr std::string_view kUnknownType = "[unknown]";

class Types {
 public:
  explicit Types(const Recording& recording);

  /// The number of the type of an object that the program called `type` (kNone: nothing)
  /// and allocated at `stack`.
  [[nodiscard]] std::uint32_t of(std::uint32_t type, std::uint32_t stack) const {
    if (type != kNone) return of_name_[type];
    return stack == kNone ? kUnknown : of_stack_[stack];
  }

  [[nodiscard]] const std::string& operator[](std::uint32_t type) const { return names_[type]; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

  static constexpr std::uint32_t kUnknown = 0;  ///< kUnknownType

 private:
  [[nodiscard]] std::uint32_t number(const std::string& name);

  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> known_;
  std::vector<std::uint32_t> of_name_;   ///< Per Recording::types.
  std::vector<std::uint32_t> of_stack_;  ///< Per stack.
};

}  // namespace geiger::profile
