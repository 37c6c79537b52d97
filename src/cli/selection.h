// Which part of a recording a verb is about: --kind, --from, --to, --at and the filters,
// the same for every verb.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/profile/profile.h"
#include "analysis/report/scope.h"
#include "cli/frame_options.h"
#include "cli/kind_options.h"
#include "cli/outcome.h"

namespace CLI {
class App;
}

namespace geiger::cli {

/// As typed; empty: not given.
struct SelectionOptions {
  std::optional<profile::Kind> kind;
  std::string from, to, at;
  std::string heap, thread, label, type, function, size;
  std::string focus, ignore;  ///< Regular expressions.
  std::vector<std::uint32_t> pids;
  FrameOptions frames;  ///< Of verbs that read several runs; else as of ReadOptions.
};

/// --from and --to.
void add_window_options(CLI::App& verb, SelectionOptions& options);
/// --thread, --label, --type, --size, --pid, --function, --focus, --ignore.
void add_filter_options(CLI::App& verb, SelectionOptions& options);
/// --focus and --ignore of them.
void add_expression_options(CLI::App& verb, SelectionOptions& options);
/// --heap.
void add_heap_option(CLI::App& verb, SelectionOptions& options);
/// All of them, --kind and --at.
void add_selection_options(CLI::App& verb, SelectionOptions& options,
                           Kinds kinds = Kinds::kOfWholeObjects);

/// What the options ask of one recording, for selecting and in words.
struct Subject {
  profile::Selection selection;
  report::Scope scope;
};

/// `recording` must have its names and outlive the subject. Fails where the options
/// contradict one another or name what is not there. A filter that nothing known matches
/// is no failure: chance may not have sampled it; that is said on standard error.
[[nodiscard]] Outcome<Subject> subject_of(const SelectionOptions& options,
                                          const profile::Recording& recording);

/// The kind that the options ask for, whatever the recording.
[[nodiscard]] profile::Kind kind_of(const SelectionOptions& options);

/// The scope of several recordings, each of which has its own instants: as typed.
[[nodiscard]] report::Scope scope_as_typed(const SelectionOptions& options);

/// Whether a process of it counted its samples instead of following them.
[[nodiscard]] bool is_aggregated(const profile::Recording& recording);

/// Fails, as a fault of usage, where a verb asks what such a recording does not tell.
void refuse_aggregated(const profile::Recording& recording, const std::string& verb);

/// subject_of(), where a failure is one of usage.
[[nodiscard]] Subject subject_or_refuse(const SelectionOptions& options,
                                        const profile::Recording& recording);

}  // namespace geiger::cli
