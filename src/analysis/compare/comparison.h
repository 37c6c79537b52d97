// What changed between two sides, or strata of them: every site with its change, interval and
// verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/compare/collector.h"
#include "estimation/difference.h"
#include "estimation/estimate.h"

namespace geiger::compare {

// What changed between two sides: every site with its change, the interval of the change, and a
// verdict that allows for the number of sites compared.

enum class Verdict : std::uint8_t {
  kGrew,
  kShrank,
  kNew,        ///< Grew from nothing: all that the side before allocated was recorded.
  kFirstSeen,  ///< Grew from nothing that was seen, less than the limit of `before`.
  kGone,       ///< Shrank to nothing: all that the side after allocated was recorded.
  kNotSeen,    ///< Shrank to nothing that is seen, less than the limit of `after`.
  kNoise,      ///< The difference may well be chance.
  kTooFew,     ///< So few samples that no difference could have shown.
};

/// Whether the verdict says that something changed.
[[nodiscard]] constexpr bool is_change(Verdict verdict) { return verdict < Verdict::kNoise; }

/// "grew", "shrank", "new", "first seen", "gone", "not seen", "noise", "too few samples".
[[nodiscard]] std::string_view name_of(Verdict verdict);

/// After minus before, in bytes per run.
struct Change {
  double value = 0;
  estimation::Interval interval;
  double certain = 0;     ///< Of what both sides recorded with certainty.
  double p_value = 1;     ///< Of "the same bytes", two-sided.
  double q_value = 1;     ///< Adjusted for the number of sites (Benjamini-Hochberg).
  double detectable = 0;  ///< Smallest growth found with 80 % power, bytes per run.
  double dispersion = 1;  ///< Its variance over that of the sampling alone; >= 1.
  double sampling_p = 1;  ///< p_value if runs differed by nothing but the sampling.
  /// About how many runs per side would find what the sampling alone calls a change (runs.h).
  std::uint64_t runs_to_find = 0;
};

/// One site, or the whole. Bytes per run; the intervals of `before` and `after` hold
/// the sampling error, that of `change` also how much runs differ where there are
/// several (not of sites with too few samples: there the sampling error outweighs it).
struct Row {
  std::uint32_t site = profile::kNone;  ///< Index into Collected::sites; kNone: the whole.
  estimation::Estimate before, after;
  Change change;
  Verdict verdict = Verdict::kTooFew;
};

/// The whole as it was counted, not estimated: bytes per run, averaged over the runs
/// of a side. Known for allocated bytes only.
struct ExactTotals {
  double before = 0, after = 0;
  /// Bytes that threads had not settled when they were cut off: the sides have at most this much
  /// more.
  double unsettled_before = 0, unsettled_after = 0;
  /// Of the change: what is not settled and, where a side has several runs, how much runs differ.
  estimation::Interval interval;
  double p_value = 1;  ///< Of "the same bytes", two-sided.
  Verdict verdict = Verdict::kNoise;

  [[nodiscard]] double change() const { return after - before; }
  [[nodiscard]] bool is_settled() const { return unsettled_before + unsettled_after == 0; }
};

struct Comparison {
  double level = 0.95;
  Collected collected;
  Row total;
  std::optional<ExactTotals> exact;
  std::vector<Row> rows;  ///< Changes first, then by size of the change, the largest first.
  /// Typical relative standard deviation of a site from run to run, the sampling taken
  /// out; nothing where no side has two runs, so that only sampling errors are known.
  std::optional<double> run_deviation;
  std::uint64_t tested = 0;  ///< Sites whose samples could have shown a difference.
  /// Smallest bytes per run at which a site that was not there before is found.
  double detectable_new = 0;
  /// Some values may be estimates whose errors are not known (profile/select/gaps.h): nothing is
  /// tested, and every verdict is kTooFew.
  bool lacks_errors = false;
  /// Compared within strata: in how many, and the share of both sides' exposure that is in them.
  std::uint64_t strata = 0;
  double matched = 1;
};

inline constexpr const char* kEmptySide = "one side has no runs";

/// Fails where the two sides cannot be compared at `level`.
[[nodiscard]] base::Outcome<void> check_comparable(const Collected& collected, double level);

/// Fails where the two sides cannot be compared at any level.
[[nodiscard]] base::Outcome<void> check_sides(const Collected& collected);

/// Compares the two sides. A site is said to have changed where its q-value is at most
/// 1 - level. Requires that there is no problem with it.
[[nodiscard]] Comparison compare(Collected collected, double level);

/// Compares the sides within strata, which share no runs: each change is the mean of those in the
/// strata (estimation/runs.h), and `before` and `after` are weighted alike. `all` has the runs of
/// all strata that both sides have, and says what sites there are; `strata` may have some with one
/// side, which only lower `matched`. Requires a stratum with both sides, that there is no problem
/// with it nor with `all`, and one grouping.
[[nodiscard]] Comparison compare_within(Collected all, std::vector<Collected> strata, double level);

// Calibrates rows of a comparison to the exact totals of two runs.

/// Whether both sides are one run whose exact total is known, so that samples need only say how it
/// divides. Several runs also differ from one another, which their totals do not show; two
/// recordings of one process differ only by what moved; and the branches of a tree must add up.
[[nodiscard]] bool can_calibrate(const Collected& collected);

/// Gives a row with samples enough on both sides the values that `table` shows for each run
/// (estimation/calibration.h), and the interval of their difference. The p-value of a site of most
/// samples is that of the rest, which then has changed by less than the total
/// (docs/internals/estimators.md, section 16). Requires can_calibrate.
void calibrate(Row& row, const Site& site, const Collected& collected, double level);

}  // namespace geiger::compare
