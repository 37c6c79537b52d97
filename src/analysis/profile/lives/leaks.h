// Leak suspects: sites whose live bytes keep growing, among the samples that no suppression
// matches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile/lives/late_growth.h"
#include "analysis/profile/lives/lifetimes.h"
#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/recording/recording.h"
#include "base/outcome.h"
#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::profile {

// Which leaks are known and accepted: suppression files as LeakSanitizer reads them.
//
//   # comment
//   leak:libfontconfig       any function, module or source file that contains this
//   leak:^main$              the whole name
//   leak:g_*_type_register   * stands for any characters

/// A part of a name: substring, with * for any characters, ^ for its beginning
/// and $ for its end.
[[nodiscard]] bool matches_suppression(std::string_view pattern, std::string_view name);

class Suppressions {
 public:
  /// Reads lines "leak:PATTERN"; blank ones and those that begin with # say nothing. The reason of
  /// a failure begins with the number of its line, "3: ".
  static base::Outcome<Suppressions> parse(std::string_view text);

  [[nodiscard]] bool is_empty() const { return patterns_.empty(); }

  /// Index of the first pattern that a frame of the stack matches: by function, by the
  /// path of its module or by its source file. kNone: none does.
  [[nodiscard]] std::uint32_t match(const Recording& recording, std::uint32_t stack) const;

  [[nodiscard]] const std::string& pattern(std::uint32_t index) const { return patterns_[index]; }
  [[nodiscard]] std::size_t size() const { return patterns_.size(); }

 private:
  std::vector<std::string> patterns_;
};

// Which samples a search for leaks looks at: those that the caller wants and no suppression
// matches.

/// What one suppression took out of the search.
struct SuppressedLeaks {
  std::uint32_t pattern = 0;  ///< Index into the suppressions.
  std::uint64_t samples = 0;  ///< Alive at the end.
  estimation::NodeSums live;
};

class SearchedSamples {
 public:
  /// `suppressions` may be null; an empty `keeps` wants all samples. Both outlive it.
  SearchedSamples(const Recording& recording, const Suppressions* suppressions, const Keeps& keeps);

  [[nodiscard]] bool is_searched(const Sample& sample) const {
    return is_wanted(sample) && pattern_of(sample) == kNone;
  }

  /// In order of patterns, those that matched something live.
  [[nodiscard]] std::vector<SuppressedLeaks> suppressed(const Recording& recording) const;

 private:
  [[nodiscard]] bool is_wanted(const Sample& sample) const {
    return answer_of(keeps_, sample) == Answer::kYes;
  }
  /// The suppression that a sample's stack falls under.
  [[nodiscard]] std::uint32_t pattern_of(const Sample& sample) const {
    return sample.stack < by_stack_.size() ? by_stack_[sample.stack] : kNone;
  }

  const Keeps& keeps_;
  std::size_t patterns_ = 0;
  std::vector<std::uint32_t> by_stack_;  ///< Empty without suppressions.
};

// Leak suspects: sites whose live bytes keep growing beyond what sampling and the
// program's own ups and downs explain.
//
// Being alive at the end is not evidence: tables, caches and pools are alive too. A site is suspect
// only where it went on growing after a warm-up, in
//   (a) all that is live of it, or
//   (b) what is live of it and has got older than 95 % of its freed objects did (of those
//       of its size classes, where too few of its own were freed): so that a slow leak is
//       not lost among what comes and goes at the same site.
// The test, its proof and its measured levels: docs/internals/estimators.md. It judges the heap at
// the end of the recording that it is given: to judge an earlier one, cut that (cut.h, teardown.h).

struct LeakOptions {
  LifetimeGrouping by = LifetimeGrouping::kStack;
  double level = 0.95;  ///< Of intervals, in (0, 1).
  double q = 0.05;      ///< Expected share of false suspects that is accepted, in (0, 1).
  /// Stacks that one of them matches are not searched; may be null.
  const Suppressions* suppressions = nullptr;
  double warm_up = 0.25;  ///< Share of each process's time, in [0, 0.9].
  /// By process, CLOCK_MONOTONIC: it is known to have run until then, so that a pause before
  /// counts as time without growth. Empty, or 0: its time ends with its last sample.
  std::vector<Nanoseconds> ran_until = {};
  /// Which samples are searched; empty: all of them.
  Keeps keeps = {};
};

enum class LeakVerdict : std::uint8_t {
  kSuspect,
  kUndecided,  ///< Open says why.
  kClear,
};

/// What a verdict is missing.
enum class Open : std::uint8_t {
  kNothing,
  kSamples,  ///< Grew by its few samples, but no split of so few could be significant.
  kSlowing,  ///< Grew significantly, and its samples leave open whether it slowed down.
  kAlone,    ///< Alone it would be suspect; among so many sites one may grow as much by chance.
  // Its process had objects from before the recording, whose frees are not seen:
  kTurnover,    ///< It kept what it allocated, and its chunks in use did not grow.
  kChunks,      ///< The same, and they grew: there, or at another site that has chunks like these.
  kUnmeasured,  ///< It kept what it allocated, and how many of its chunks were in use is not known.
};

/// Growth since the warm-up, of a site or of the old objects in it.
struct LeakGrowth {
  double bytes = 0;               ///< Net, estimated.
  estimation::Interval interval;  ///< By sampling and by the program's scatter.
  double p_value = 1;             ///< The larger of the two tests'.
  /// Not slowing down: in the last third at least half as fast as in the first.
  bool is_lasting = false;
  /// Surely slowing down: not merely by chance of its samples.
  bool is_slowing = false;
  /// Whatever stays is part of it, some time after it came.
  bool is_whole = false;
};

struct LeakSite {
  LifetimeGroup group;
  estimation::NodeSums allocated;  ///< What its samples stand for.
  estimation::NodeSums alive;      ///< Of that, what was live at the end.
  LeakGrowth all, old;
  double seconds = 0;           ///< Time that `bytes` grew in, over the site's processes.
  Nanoseconds judged_from = 0;  ///< CLOCK_MONOTONIC: the end of the earliest warm-up.
  Nanoseconds oldest = 0;       ///< Age at the end of the oldest live object since the warm-up.
  Nanoseconds old_from = 0;     ///< Age from which objects count as old; 0: unknown.
  std::uint64_t since = 0;      ///< Samples allocated since the warm-up.
  std::uint64_t kept = 0;       ///< Of them, those alive at the end.
  double p_value = 1;           ///< Of (a) and (b) together; with `late` of the bound too.
  double seen_p_value = 1;      ///< Of (a) and (b), by what the recording has seen.
  double q_value = 1;           ///< Adjusted for all sites tested.
  bool is_tested = false;       ///< Samples enough to be ever significant.
  LeakVerdict verdict = LeakVerdict::kClear;
  Open open = Open::kNothing;  ///< Of kUndecided.
  /// Of a site with objects from before the recording: what decides. Its growth is then between
  /// this bound and what was seen of it.
  std::optional<LateGrowth> late;
  std::uint32_t owner = kNone;  ///< Index into Leaks::owners: it is one of its accused sites.
  /// CLOCK_MONOTONIC: from when on it did not grow any more, but for 5 % of what it holds, by its
  /// samples. Of clear sites that hold a tenth of the heap and leaked at most half of what they
  /// hold; 0: not such a site, or not known to have stopped.
  Nanoseconds stopped = 0;

  /// Whether it has samples of chunks of this size, which keep growing.
  [[nodiscard]] bool has_growing(Bytes chunk) const {
    return late && std::ranges::find(late->growing, chunk) != late->growing.end();
  }

  /// At most this many bytes leaked since the warm-up: they would be part of either growth.
  [[nodiscard]] double most_leaked() const {
    return old.is_whole ? std::min(all.interval.hi, old.interval.hi) : all.interval.hi;
  }
};

/// A function of the program's own code that explains several sites (owners.h).
struct LeakOwner {
  /// All that is allocated below the function, as one site: a hypothesis of its own, with q_value
  /// adjusted for all functions that could be tested. Its group has the function's name, its
  /// heaviest line and a stack through it. kUndecided: its sites grow together, and it is not
  /// known which.
  LeakSite whole;
  std::uint32_t function = kNone;  ///< Its label (Labels).
  std::uint64_t sites = 0;         ///< With something live.
  std::uint64_t accused = 0;       ///< Of them, those with LeakSite::owner.
};

struct Leaks {
  /// Of LeakOptions::by kStack: in place of several suspects, or of sites that grow only together;
  /// by growth, the undecided ones last. Other owners' sites are left out of each.
  std::vector<LeakOwner> owners;
  /// Suspects first, then undecided ones, each by growth; then clear ones, by what is live.
  std::vector<LeakSite> sites;
  /// Where processes had objects from before the recording: chunks in use that grew, and not by a
  /// suspect. The fastest first.
  std::vector<GrowingChunks> growing;
  std::vector<SuppressedLeaks> suppressed;  ///< In order of patterns, those that matched.
  std::uint64_t tested = 0;
  /// All sites of too few samples as one, if they have enough together: whether something
  /// grows among them. Its group has no name. Its q-value is its p-value.
  std::optional<LeakSite> small;
  /// Samples that a site needs before any outcome could be significant.
  std::uint64_t samples_needed = 0;
  double live = 0;    ///< Estimated bytes of all sites at the end.
  double unseen = 0;  ///< Upper limit of the bytes of a site without samples.
  /// At most this many bytes leaked since the warm-up at a site that is clear, or are at one that
  /// has no samples: the larger of the upper limits.
  double may_have_leaked = 0;

  /// Whether a leak that matters to this heap would have been noticed. Without that, that none was
  /// found says little (docs/internals/estimators.md, Leak suspects).
  [[nodiscard]] bool can_be_clear() const;
};

/// Judges every site with something live; those without count among the tested. Requires `by`
/// kStack or kFunction.
[[nodiscard]] Leaks find_leaks(const Recording& recording, const LeakOptions& options);

// Leak suspects of a whole recording: where each process is judged, and which stacks are accused.

/// The owner of each accused stack; empty: the stack is accused itself.
using AccusedStacks = std::map<std::uint32_t, std::string>;

/// Those of suspects and of owners that are, judged before the final frees.
[[nodiscard]] AccusedStacks accused_stacks(const Recording& recording);

}  // namespace geiger::profile
