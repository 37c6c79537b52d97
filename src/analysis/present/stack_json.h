// Stacks in JSON documents.
#pragma once

#include <cstdint>

#include "analysis/present/fields.h"
#include "analysis/profile/frames/source_line.h"
#include "analysis/profile/recording.h"

namespace geiger::present {

/// A stack by its index, inlined: "stack", its frames, leaf first, and "is_truncated".
struct StackOf {
  const profile::Recording& recording;
  std::uint32_t stack;
};
[[nodiscard]] const Fields<StackOf>& fields_of(Of<StackOf> /*type*/);
/// Nothing if the recording has no such stack.
[[nodiscard]] std::optional<StackOf> stack_of(const profile::Recording& recording,
                                              std::uint32_t stack);

/// "file", "line" and, of rows of several lines, "other_lines", each where it is known.
[[nodiscard]] const Fields<profile::SourceLine>& fields_of(Of<profile::SourceLine> /*type*/);

}  // namespace geiger::present
