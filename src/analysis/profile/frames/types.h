// The types of the objects of a recording, as the program or the names of allocating functions tell
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/profile/frames/frame_rules.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::profile {

// What the name of an allocating function says about the type of what it allocates.
//
// Only functions that exist to allocate objects of a type they name are considered:
// `std::allocator<T>::allocate`, `std::make_unique<T>`, `Box<T>::new`. A constructor T::T that
// calls operator new is not one of them: it allocates a part of a T, not a T.

/// The type that a demangled function allocates: "Request" of
/// "std::__new_allocator<Request>::allocate(unsigned long, void const*)". Nodes of the
/// standard library's containers are shown as what they hold: "std::pair<int const, Request>"
/// of a map. Nothing if the function allocates no type that it names.
[[nodiscard]] std::optional<std::string> type_allocated_by(std::string_view function,
                                                           const FrameRules& rules = {});

// The types of the objects of a recording: as the program named them through the API, else
// from the frames next to the allocation, else unknown.

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
