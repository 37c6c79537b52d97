// The part of a recording that is requested: --kind, --from, --to, --at and the filters as typed,
// and their meaning in one recording.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/present/heading.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/groups/view.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/kind_rules.h"
#include "analysis/profile/select/profile.h"
#include "base/outcome.h"
#include "base/units.h"

namespace geiger::query {

// Which frames a report omits and which one it blames, by the options --plumbing, --frames, --hide,
// --rules, --wrappers.

/// The options as typed.
struct FrameOptions {
  bool shows_plumbing = false;
  profile::FramesShown frames = profile::FramesShown::kMixed;
  std::vector<std::string> hidden;     ///< Regular expressions.
  std::string rules_file;              ///< Empty: kRulesFile, if it is there.
  std::optional<bool> finds_wrappers;  ///< Else as the rules say.
};

/// Read from the working directory where no other file is named, if it is the caller's or root's:
/// rules hide frames, and any user may put a file into /tmp.
inline constexpr const char* kRulesFile = ".geiger-rules";

/// The rules that the options and the file ask for. `remarks` gets a sentence if the file of the
/// working directory is ignored.
[[nodiscard]] base::Outcome<std::shared_ptr<const profile::FrameRules>> frame_rules_of(
    const FrameOptions& options, std::vector<std::string>& remarks);

// Instants of a recording as people name them: --from, --to, --at.

struct Instant {
  enum class Kind : std::uint8_t { kStart, kEnd, kPeak, kGiven };
  Kind kind = Kind::kGiven;
  Nanoseconds time = 0;               ///< CLOCK_MONOTONIC.
  std::string text;                   ///< "3.2 s", "mark 'warm' (3.2 s)".
  bool is_chosen_by_samples = false;  ///< As of profile::Selection.
};

/// The forms of WHEN, for help texts.
inline constexpr const char* kWhenForms =
    "12.5s, 300ms, 50%, start, end, peak, cleanup,\na mark's name";

/// The instant that `when` names:
///   12.5s  300ms  2m   after the start of the recording (the first of its processes)
///   50%                of its duration
///   start  end  peak   the peak being the largest of those of its processes, in `heap`
///   cleanup            before the process that held most freed its heap at the end, however
///                      slowly; else the end
///   mark:NAME  NAME    a mark; mark:NAME#2 the second of that name
/// Fails on what is outside the recording, on unknown marks, and on names that several marks have;
/// the reason lists the marks.
[[nodiscard]] base::Outcome<Instant> instant_of(const std::string& when,
                                                const profile::Recording& recording,
                                                std::uint32_t heap = profile::kProcessHeap);

// What --kind takes and allows: the only place that refuses a combination with
// --kind. Which kind takes what is in select/kind_rules.h.

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
