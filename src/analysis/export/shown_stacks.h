// The stacks of a recording as viewers show them: functions, frames, paths from the root.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/present/style.h"
#include "analysis/profile/recording.h"

namespace geiger::exports {

/// A function of a source file: the unit of call trees.
struct ShownFunction {
  std::string name;  ///< As recorded: any bytes that the program chose.
  std::string file;  ///< Source file, may be empty.
  std::uint32_t module = profile::kNone;
};

/// A function at a place, or a mark in place of a missing frame.
struct ShownFrame {
  std::uint32_t function = 0;
  std::uint32_t line = 0;                   ///< 0 = unknown.
  std::uint32_t location = profile::kNone;  ///< kNone: a mark.
  std::uint32_t inline_depth = 0;           ///< 0: the physical function of its location.
};

/// Frames are numbered in order of first use. The recording must outlive it.
class ShownStacks {
 public:
  explicit ShownStacks(const profile::Recording& recording);

  /// Frames of a stack, root first, inlined ones after the function that they are in. Never
  /// empty: "[no stack]" of kNone and of stacks without frames; "[truncated]" is the root of
  /// those that were cut off.
  [[nodiscard]] std::vector<std::uint32_t> path_of(std::uint32_t stack);

  [[nodiscard]] const std::vector<ShownFunction>& functions() const { return functions_; }
  /// Of those seen so far, in their order.
  [[nodiscard]] std::vector<std::string> names_of_functions(present::Names names) const;
  [[nodiscard]] const std::vector<ShownFrame>& frames() const { return frames_; }
  [[nodiscard]] const ShownFunction& function_of(std::uint32_t frame) const {
    return functions_[frames_[frame].function];
  }

 private:
  const std::vector<std::uint32_t>& frames_at(std::uint32_t location);
  std::uint32_t function(std::string_view name, std::string_view file, std::uint32_t module);
  std::uint32_t frame(const ShownFrame& frame);
  std::uint32_t mark(std::string_view name, std::uint32_t& known);

  const profile::Recording& recording_;
  std::vector<ShownFunction> functions_;
  std::vector<ShownFrame> frames_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> known_;  ///< By name and file.
  std::vector<std::vector<std::uint32_t>> by_location_;                 ///< Outermost first.
  std::uint32_t no_stack_ = profile::kNone, truncated_ = profile::kNone;
};

}  // namespace geiger::exports
