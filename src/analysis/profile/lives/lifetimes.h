// How long sampled objects lived, where they were freed, and from which age they count as old.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/profile/frames/labels.h"
#include "analysis/profile/groups/groupings.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "estimation/sums.h"
#include "estimation/survival.h"

namespace geiger::profile {

// How long sampled objects lived and where they were freed, by group.
//
// A sample is watched from its allocation to its free or to the end of its process's
// recording, whichever comes first; what is alive then is censored, not left out. Frees
// are recorded while a recording is paused, so a pause ends no watch.
//
// In a recording whose beginning is missing, earlier allocations are left out: only the long-lived
// ones of them are known. What was allocated since is followed to the end, so that curves stay
// unbiased. Samples that were thinned out are left out too, the others weigh more instead.
//
// A free that went past the runtime was noticed only when the address came back: such a life is
// counted up to then, hence too long, and the thread and stack that freed it are not known.

/// The property that samples are grouped by.
enum class LifetimeGrouping : std::uint8_t {
  kWhole,      ///< All in one.
  kFunction,   ///< The function to blame (frame_roles.h).
  kStack,      ///< The call stack as views show it: hidden frames do not make groups.
  kFreeStack,  ///< The call stack that freed; only samples for which that is known.
  kThread,     ///< The thread that allocated.
  kSize,       ///< Requested bytes, by powers of two.
  kLine,       ///< A line of such a function.
  kType,       ///< The type of the object (frames/types.h).
};

/// CLOCK_MONOTONIC instants, the last one excluded.
struct TimeSpan {
  Nanoseconds from = 0;
  Nanoseconds to = std::numeric_limits<Nanoseconds>::max();
};

struct LifetimeSelection {
  /// Only objects allocated in it; they are watched past its end.
  TimeSpan allocated_in;
  /// Only objects that were also seen being freed. Short lives are then over-represented:
  /// the mean is .28 of the truth in a recording as long as the mean life.
  bool observed_only = false;
  /// Which samples are counted; empty: all of them.
  Keeps keeps;
  /// Also objects whose allocation is in a segment that is missing: what is known of them
  /// is that they lived long enough to be seen later. No curve may have them.
  bool with_unseen_allocations = false;
  /// Of kStack: stacks that differ only in how often functions recur in them are one group.
  bool joins_recursion = false;
  /// Which groups, by their samples, get names and bytes; the others come last. Empty: all.
  std::function<bool(std::span<const std::uint32_t>)> describes;
};

/// Disjoint parts of a group's samples, and the whole.
struct LifetimeSums {
  estimation::NodeSums allocated, alive, freed;
  estimation::NodeSums freed_by_known_thread, freed_by_other_thread;
  estimation::NodeSums freed_on_known_cpu, freed_on_other_cpu;
};

struct LifetimeGroup {
  std::string name, detail;            ///< As rows of a table have them (view.h).
  std::uint32_t stack = kNone;         ///< kStack, kFreeStack: a stack of it, if there is one.
  std::vector<std::uint32_t> samples;  ///< Indexes into Recording::samples.
  SourceLine where = {};               ///< kFunction, kLine, kStack, kFreeStack: as rows have it.
  double weighted_bytes = 0;           ///< What groups are ordered by, largest first.
};

/// The selected samples, group by group. No group is empty.
[[nodiscard]] std::vector<LifetimeGroup> lifetime_groups(const Recording& recording,
                                                         LifetimeGrouping grouping,
                                                         const LifetimeSelection& selection = {});

/// Sums of a group; E is the largest interval of the recording.
/// LifetimeSums::allocated and alive by themselves.
[[nodiscard]] estimation::NodeSums allocated_sums_of(const Recording& recording,
                                                     std::span<const std::uint32_t> samples);
[[nodiscard]] estimation::NodeSums alive_sums_of(const Recording& recording,
                                                 std::span<const std::uint32_t> samples);
[[nodiscard]] LifetimeSums lifetime_sums(const Recording& recording,
                                         std::span<const std::uint32_t> samples);

/// Sums of a set of samples, the same to the bit in whatever order they are given.
[[nodiscard]] estimation::NodeSums sums_of_samples(const Recording& recording,
                                                   std::span<const std::uint32_t> samples);

/// How long a sample lived, or was watched if it is alive.
[[nodiscard]] Nanoseconds watched_for(const Recording& recording, const Sample& sample);

/// The unit of a curve: the share of bytes alive, or of objects.
enum class CurveOver : std::uint8_t { kBytes, kObjects };

/// The survival curve of samples; lengths in nanoseconds. Each weighs z/pi or 1/pi, certain
/// ones z or 1.
[[nodiscard]] estimation::SurvivalCurve survival_of(const Recording& recording,
                                                    std::span<const std::uint32_t> samples,
                                                    CurveOver over, double level);

// From which age the objects of a site count as old: older than 95 % of the freed bytes became.

/// Bytes that a sample stands for, where fates count.
[[nodiscard]] double weight_of(const Recording& recording, const Sample& sample);

/// By size class.
using AgesBySize = std::array<std::optional<Nanoseconds>, kSizeClasses>;

/// Nothing of too few freed objects.
[[nodiscard]] std::optional<Nanoseconds> old_from(const Recording& recording,
                                                  std::span<const std::uint32_t> samples);
/// Over the whole recording.
[[nodiscard]] AgesBySize old_from_by_size(const Recording& recording);

}  // namespace geiger::profile
