// The part of a recording that is requested: --kind, --from, --to, --at and the filters as typed,
// and their meaning in one recording.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/present/scope.h"
#include "analysis/profile/profile.h"
#include "base/outcome.h"
#include "query/frame_rules.h"

namespace geiger::query {

/// The options as typed; empty: not given.
struct SelectionOptions {
  std::optional<profile::Kind> kind;
  std::string from, to, at;
  std::string heap, thread, label, type, function, size;
  std::string focus, ignore;  ///< Regular expressions.
  std::vector<std::uint32_t> pids;
  bool at_own_ends = false;  ///< As of profile::Selection.
  FrameOptions frames;       ///< Of verbs that read several runs; else as of ReadOptions.
};

/// The meaning of the options in one recording, for selecting and in words.
struct Subject {
  profile::Selection selection;
  present::Scope scope;
  std::vector<std::string> remarks;  ///< A sentence for each filter that nothing known matches.
};

/// `recording` must have its names and outlive the subject. Fails where the options
/// contradict one another or name what is not there. A filter that nothing known matches
/// is not a failure: what it names may not have been sampled.
[[nodiscard]] base::Outcome<Subject> subject_of(const SelectionOptions& options,
                                                const profile::Recording& recording);

/// The kind that the options ask for, whatever the recording.
[[nodiscard]] profile::Kind kind_of(const SelectionOptions& options);

/// The scope of several recordings, each of which has its own instants: as typed.
[[nodiscard]] present::Scope scope_as_typed(const SelectionOptions& options);

/// Whether a process of it counted its samples instead of following them.
[[nodiscard]] bool is_aggregated(const profile::Recording& recording);

}  // namespace geiger::query
