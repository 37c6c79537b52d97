// Gathers the runs of two sides site by site, with what is known of each run as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/compare/places.h"
#include "analysis/profile/groups/view.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/gaps.h"
#include "analysis/profile/select/profile.h"
#include "base/outcome.h"
#include "estimation/sums.h"

namespace geiger::compare {

// Gathers the runs of two sides site by site. Runs are added one after another and
// can be forgotten afterwards: what is kept grows with the sites, not with the
// samples.

enum class Which : std::uint8_t { kBefore, kAfter };
inline constexpr std::array kBoth{Which::kBefore, Which::kAfter};

/// Defines what a site is.
struct Grouping {
  profile::GroupBy by = profile::GroupBy::kFunction;
  /// A function or module with all that it called, a label with those inside it, not only what it
  /// allocated itself. Sites then overlap. A whole stack is the same either way.
  bool is_inclusive = false;
  /// Of stacks: sites are also all their callers with what they called, every path from the
  /// root once, so that sites make a call tree.
  bool has_callers = false;
};

/// The sums of a site in one run.
struct RunValue {
  std::uint32_t run = 0;  ///< Of its side, from 0.
  double certain_bytes = 0;
  double weighted_bytes = 0;
  double bytes_variance = 0;  ///< Of the sampling.
};

/// How many objects of each size were recorded with certainty: a whole number, but in a mean.
using CertainSizes = std::map<Bytes, double>;

/// What was seen of a site.
struct Seen {
  estimation::NodeSums sums;  ///< Added over runs; E of all runs, whether they saw it or not.
  /// Certain bytes in objects that the other side may have tried (estimation::Side).
  double uneven_bytes = 0;
  CertainSizes certain_sizes;  ///< While collecting; empty in what finish() returns.
  /// With callees included: of stacks that were cut, and may pass through any site. Of types: of
  /// objects whose type is not known. Those of the whole are open in the sums of the other sites.
  estimation::NodeSums cut = {};

  void merge(const Seen& other);
  [[nodiscard]] std::uint64_t samples() const { return sums.samples + sums.certain_samples; }
};

/// One side of a site, all runs together.
struct SiteSide : Seen {
  std::vector<RunValue> values;  ///< Runs that saw it, ascending; the others saw nothing.
  /// If SideFacts::shares_process: the samples that the other side does not have.
  Seen moved = {};
};

struct Site {
  std::string name;
  std::string detail;                 ///< Module; nearest callers of a stack.
  std::vector<std::uint32_t> places;  ///< Leaf first: one place, or a whole stack.
  SiteSide before, after;
  /// Of functions and stacks: a line of them, in the last run that has one.
  profile::SourceLine where = {};
};

/// A run as a whole.
struct RunFacts {
  Bytes exact_bytes = 0;      ///< Counted, all threads (select/totals.h).
  Bytes unsettled_bound = 0;  ///< At most this many bytes more.
  double largest_interval = 0;
  std::uint64_t dropped = 0;  ///< Samples and frees that could not be recorded.
  std::uint64_t processes = 0;
  bool is_counted = true;  ///< Whether exact_bytes is known at all (profile/select/gaps.h).
  std::vector<profile::Gap> gaps = {};  ///< What the recording lacks.
  bool has_stacks_at_limit = false;     ///< Of frames (profile/frames/stack_answers.h).
  /// Of a peak: by how much its limits are outside of those of the heap at the instant that stands
  /// for it, which the sums are of (select/peak.h).
  double below_instant = 0, above_instant = 0;
  /// Values are per unit of it: hours, counted bytes, or 1 where they are per run. > 0.
  double exposure = 1;
  /// Whether the exact bytes are those that all samples were drawn from, none in pure mode.
  bool calibrates = false;
};

/// `level`: of the gates that will be checked, for RunFacts::below_instant and above_instant.
[[nodiscard]] RunFacts facts_of(const profile::Recording& recording,
                                const profile::Profile& profile, double level);

struct SideFacts {
  std::vector<RunFacts> runs;
  SiteSide total;
  double smallest_interval = 0, largest_interval = 0;  ///< In force, over all runs.
  bool has_pure = false;  ///< Some process tried objects of every size.
  bool is_split = false;  ///< A quarter of the samples chose the peak (select/peak.h).
  /// Both sides are one run, with a process in common: samples that both have cancel out.
  bool shares_process = false;

  /// Of all runs: what sums over them are divided by.
  [[nodiscard]] double exposure() const;
  /// Of any run.
  [[nodiscard]] bool has_stacks_at_limit() const;
  /// Of the first run that lacks a part (profile/select/gaps.h).
  [[nodiscard]] std::string missing_part() const;
};

struct Collected {
  profile::Kind kind = profile::Kind::kAllocated;
  /// Only a part of some run was selected, so the exact totals of whole runs do not apply.
  bool is_part = false;
  Grouping grouping;
  SideFacts before, after;
  std::vector<Site> sites;     ///< In order of their names and details.
  std::vector<Site> budgeted;  ///< One per pattern, in their order.
  std::vector<Place> places;   ///< What Site::places refers to.
};

class Collector {
 public:
  /// `level`: as of facts_of().
  Collector(profile::Kind kind, const Grouping& grouping, std::vector<Pattern> patterns = {},
            double level = 0.95);

  /// Adds a run to a side. The recording is not needed afterwards. `exposure`, positive and
  /// finite: what the run was exposed to, such as its hours or the bytes that it allocated in all;
  /// sides are then compared per unit of it. `moved`: the part of the profile that the other side
  /// does not have (common_samples.h), if each side is one run and both have that part.
  [[nodiscard]] base::Outcome<void> add(Which which, const profile::Recording& recording,
                                        const profile::Profile& profile, double exposure = 1,
                                        const profile::Profile* moved = nullptr);

  [[nodiscard]] profile::Kind kind() const { return out_.kind; }
  [[nodiscard]] profile::GroupBy by() const { return out_.grouping.by; }

  /// Hands over what was gathered; ends the collector.
  [[nodiscard]] Collected finish();

 private:
  struct PlacesHash {
    std::size_t operator()(const std::vector<std::uint32_t>& places) const;
  };
  using SitesByPlaces = std::unordered_map<std::vector<std::uint32_t>, std::uint32_t, PlacesHash>;

  class Run;

  std::uint32_t site_of(std::vector<std::uint32_t> places);
  [[nodiscard]] bool includes_callers() const;
  [[nodiscard]] bool needs_labels() const;
  /// Adds what every stack of a profile saw, label by label.
  void add_stacks(Run& run, const profile::Recording& recording, const profile::Profile& profile);
  void merge_rebuilt();
  void settle_sides();
  void describe(Site& site) const;

  Collected out_;
  std::vector<Pattern> patterns_;
  double level_;
  Places places_;
  SitesByPlaces known_;
};

/// A side of a site, or of the whole.
[[nodiscard]] inline SiteSide& side_of(Site& site, Which which) {
  return which == Which::kBefore ? site.before : site.after;
}
[[nodiscard]] inline const SiteSide& side_of(const Site& site, Which which) {
  return which == Which::kBefore ? site.before : site.after;
}
[[nodiscard]] inline SideFacts& side_of(Collected& collected, Which which) {
  return which == Which::kBefore ? collected.before : collected.after;
}
[[nodiscard]] inline const SideFacts& side_of(const Collected& collected, Which which) {
  return which == Which::kBefore ? collected.before : collected.after;
}

}  // namespace geiger::compare
