// Profiles of a part of each object instead of its size: resident, allocated beyond, stranded; what
// of it processes answered themselves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "base/outcome.h"

namespace geiger::profile {

// Profiles of a part of each object instead of its size: the bytes on resident pages,
// allocator overhead (rounding), and the free bytes next to a block.
//
// An object's inclusion probability stays that of its size z; y takes the place of z in
// every sum (docs/internals/estimators.md, Parts of objects).

/// The snapshot of a moment; nullptr if there is none.
[[nodiscard]] const Snapshot* snapshot_at(const Observations& observations, Moment moment);
/// The same of what objects contain.
[[nodiscard]] const Content* content_at(const Observations& observations, Moment moment);
[[nodiscard]] const Observations* observations_of(const Recording& recording,
                                                  std::uint32_t process);

/// Whether a sample of a snapshot was live at it: a free that could not be read in time
/// is known from the trace.
[[nodiscard]] inline bool was_live(const Sample& sample, const Snapshot& snapshot) {
  return sample.free_time == 0 || sample.free_time > snapshot.time;
}

/// The samples of a measured kind with what they stand for. Processes without data are left out:
/// check_kind() has the reason.
[[nodiscard]] Profile select_measured(const Recording& recording, const Selection& selection);

/// Why nothing was read of a process from outside.
inline constexpr std::string_view kNotObserved =
    "the process was not observed: record with geiger run, without --no-observe";

/// Why nothing is known of what its objects contain.
inline constexpr std::string_view kNoContent =
    "what its objects contain was not read: record with --content";

/// Why an aggregated recording lacks the fate and the times of single samples.
inline constexpr std::string_view kAggregated =
    "the recording is aggregated: samples were counted, not followed to their frees";

/// Why a profile by another program lacks all allocations that were freed.
inline constexpr std::string_view kLiveOnly = "the file contains only the live heap";

/// Whether all that is known of a recording is what was live when it ended.
[[nodiscard]] bool has_live_only(const Recording& recording);

/// Fails if the process has no data of this kind; the reason is for the user.
base::Outcome<void> check_kind(const Recording& recording, std::uint32_t process, Kind kind,
                               Moment moment);
/// Fails if no process has any; of mappings, which are exact, if one has not. The reason is that of
/// one process, of an observed one if there is one.
base::Outcome<void> check_kind(const Recording& recording, Kind kind, Moment moment);

/// `bytes` as a whole number that is right on average: the part after the point decides
/// how often it is the larger one. `salt` names the draw, so that it can be repeated.
[[nodiscard]] Bytes rounded_at_random(double bytes, std::uint64_t salt);

// Resident pages as the runtime found them inside its process, for processes whose pages may not be
// read from outside.

/// The answer that stands for a process.
struct AnswerFacts {
  std::uint32_t process = 0;
  Nanoseconds time = 0;        ///< CLOCK_MONOTONIC: when the process was queried.
  std::uint64_t answered = 0;  ///< Of the samples that were live then.
  std::uint64_t unanswered = 0;
};

/// When each process was queried for its residency: its newest answer, if that is
/// later than its last readable snapshot, or the one of this moment cannot be read. The others
/// are left out.
[[nodiscard]] std::map<std::uint32_t, Nanoseconds> answers_used(const Recording& recording,
                                                                Moment moment);

/// The answers used, each with the samples that it leaves open.
[[nodiscard]] std::vector<AnswerFacts> facts_of_answers(const Recording& recording, Moment moment);

// Of how many objects of Python a recording has the type, and why not of the others.

/// Samples of the domain for objects (vocabulary::is_python_object), of all processes.
struct PythonTyping {
  std::uint64_t samples = 0;
  std::uint64_t typed = 0;
  bool is_at_end = false;  ///< Only of those that were alive at the end.
  std::string fault;       ///< Why types could not be read of a process that has such samples.
};

/// Nothing where there are no such samples.
[[nodiscard]] std::optional<PythonTyping> python_typing(const Recording& recording, bool is_at_end);

}  // namespace geiger::profile
