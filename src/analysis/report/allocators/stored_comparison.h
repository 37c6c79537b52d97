// The result of `geiger compare-malloc` as a file, for `geiger advise`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "analysis/report/allocators/allocators.h"
#include "base/outcome.h"

namespace geiger::report {

/// Which program was compared. Another build of it may need another allocator.
struct ComparedProgram {
  std::string executable;
  std::string build_id;  ///< Lower-case hex; empty: it has none.

  friend bool operator==(const ComparedProgram&, const ComparedProgram&) = default;
};

/// The program that a recording is mostly about.
[[nodiscard]] ComparedProgram compared_program(const profile::Recording& recording);

struct StoredComparison {
  ComparedProgram of;
  std::string command = {};  ///< As typed.
  std::vector<AllocatorRuns> runs =
      {};  ///< The program's own first; without AllocatorRuns::memory.
};

/// Lines of text, "KEY VALUE".
[[nodiscard]] std::string to_stored(const StoredComparison& comparison);
/// Fails where the text is not one that to_stored() wrote.
[[nodiscard]] base::Outcome<StoredComparison> from_stored(std::string_view text);

}  // namespace geiger::report
