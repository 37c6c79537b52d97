// Gates: whether a limit on growth or on bytes is kept, by confidence limits of the bytes of sides.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/collector.h"
#include "estimation/estimate.h"
#include "estimation/runs.h"

namespace geiger::compare {

// Confidence limits that gates compare with: of the bytes of a side, and of one side minus a
// multiple of the other, with or without several runs.

/// The site or total that a gate is about.
struct Subject {
  const SiteSide* before = nullptr;
  const SiteSide* after = nullptr;
  /// Counted totals, kept as certain bytes: nothing of them could have been missed.
  bool is_counted = false;
  /// The whole borrows nothing from the sites, which vary more than their sum.
  bool is_whole = false;
  /// Bytes per run that the sides may have beyond what their samples say: unsettled ones, or those
  /// by which a peak may be above the heap at the instant that stands for it, or below.
  double more_before = 0, more_after = 0;
  double less_before = 0, less_after = 0;
};

/// Asks for the limits of after - factor * before, in bytes per run. With factor 0 the before side
/// is ignored.
struct Query {
  Subject subject;
  double factor = 1;
};

struct Limits {
  double value = 0;
  estimation::Interval interval;
  double dispersion = 1;  ///< Variance over that of the sampling alone.
};

/// Answers queries about one collection, which it looks into.
class LimitFinder {
 public:
  explicit LimitFinder(const Collected& collected);

  /// `level`, in (1/2, 1): each limit is missed with a probability of 1 - level.
  [[nodiscard]] std::vector<Limits> limits(std::span<const Query> queries, double level) const;

  /// The least growth (after - before) / before that the limits of after - (1 + growth)
  /// before allow, and the largest: from -1 to infinity.
  [[nodiscard]] std::vector<double> lowest_growths(std::span<const Subject> subjects,
                                                   double level) const;
  [[nodiscard]] std::vector<double> highest_growths(std::span<const Subject> subjects,
                                                    double level) const;

 private:
  [[nodiscard]] std::vector<Limits> of_sampling(std::span<const Query> queries, double level) const;
  [[nodiscard]] std::vector<Limits> of_runs(std::span<const Query> queries, double level) const;
  [[nodiscard]] estimation::SiteRuns runs_of(const Query& query) const;
  [[nodiscard]] std::vector<double> growth_limits(std::span<const Subject> subjects, double level,
                                                  bool is_upper) const;

  const Collected& collected_;
  std::vector<estimation::SiteRuns> lenders_;
};

// Gates: whether a limit on growth or on bytes is kept. A gate passes or fails only where the
// samples support it; otherwise it is undecided, and states what effort would decide it.

enum class Answer : std::uint8_t {
  kPass,       ///< Below the limit even at the upper end of what the samples allow.
  kUndecided,  ///< The limit lies within what they allow, or the recording is incomplete.
  kFail,       ///< Above it even at the lower end.
};

/// "pass", "undecided", "fail".
[[nodiscard]] std::string_view name_of(Answer answer);

enum class Measured : std::uint8_t {
  kGrowth,  ///< (after - before) / before; 0.05 for 5 %.
  kBytes,   ///< Of the after side, per run.
};

struct Limit {
  Measured measured = Measured::kGrowth;
  double most = 0;
};

/// One limit on the whole, on what functions that match and all that they call allocate, or on
/// labels.
struct GateSpec {
  Pattern pattern;  ///< The default is the whole.
  Limit limit;
  std::string source;  ///< Where the limit was given, for messages: "--max-bytes", "budget:3".

  /// As reports name it: the pattern, or "total".
  [[nodiscard]] std::string name() const {
    return pattern.matches_everything() ? "total" : pattern.name();
  }
  /// The pattern of the module, unless it is any; "label" of one.
  [[nodiscard]] std::string detail() const {
    if (pattern.is_of_label()) return "label";
    return pattern.module == "*" ? "" : pattern.module;
  }
};

/// A limit on every site of its own.
struct SiteGates {
  Limit limit;
  std::string source;
};

/// The limits to check, with the confidence level and options.
struct Gates {
  std::vector<GateSpec> specs;  ///< Their patterns are those that the collector was given.
  std::vector<SiteGates> per_site;
  /// A part may exceed its limit on growth by this many bytes, since a small one soon grows
  /// by a multiple; nothing: 1 % of the whole before. The whole may not.
  std::optional<double> ignore_below;
  /// The probability that any gate fails wrongly, and that a gate passes wrongly, is at most
  /// 1 - level.
  double level = 0.95;
  /// A pattern must select samples: without any its name may be wrong, and
  /// the gate is undecided.
  bool is_strict = false;
};

struct GateResult {
  std::string name, detail;  ///< Of the pattern or site; the whole is "total".
  std::string source;
  Limit limit;
  Answer answer = Answer::kUndecided;
  /// Growth, or bytes per run. Nothing: growth from nothing that was seen.
  std::optional<double> value;
  double lo = 0;                    ///< What a fail is decided by: allows for all gates at once.
  std::optional<double> hi;         ///< What a pass is decided by; nothing where nothing bounds it.
  std::uint64_t samples_after = 0;  ///< Certain ones included.
  bool is_of_label = false;         ///< Of a GateSpec with a label's pattern.
  bool is_of_pattern = false;       ///< Of a GateSpec that is not of the whole.
  bool is_exact = false;            ///< Counted, not estimated.
  /// How many times as many samples would probably decide. Nothing where it is decided,
  /// where more samples would not help, or where the value seems to be the limit.
  std::optional<double> effort;
  double dispersion = 1;  ///< Variance over that of the sampling alone.
  double open = 0;        ///< Bytes per run, of either side, of which it is not known whether they
                          ///< are its: in `hi`, or in `lo` of growth, only.
  /// Why samples cannot decide: what the recordings lack. Empty where they are whole, or where the
  /// gate fails in spite of it.
  std::string lacks;
};

struct Verdicts {
  Answer answer = Answer::kPass;    ///< Fail if any failed, else undecided if any is.
  std::vector<GateResult> results;  ///< In the order given; of sites only those that do
                                    ///< not pass, fails first, at most a thousand.
  double ignored_bytes = 0;         ///< By which parts may exceed a limit on growth.
  std::uint64_t site_gates = 0;     ///< Of per_site, in all.
  std::uint64_t passed = 0, failed = 0, undecided = 0;
};

/// Whether some limit needs runs before.
[[nodiscard]] bool has_growth_limit(const Gates& gates);
/// Takes the limits on growth out of `gates`, and returns those that are not per site.
[[nodiscard]] std::vector<GateSpec> take_growth_limits(Gates& gates);

/// Fails unless the level is above one half: below, both answers of a gate would hold.
[[nodiscard]] base::Outcome<void> check_level(const Gates& gates);

/// Fails where these gates cannot be answered from what was collected.
[[nodiscard]] base::Outcome<void> check_comparable(const Collected& collected, const Gates& gates);

/// Answers every gate. Requires that they can be answered.
[[nodiscard]] Verdicts check(const Collected& collected, const Gates& gates);

}  // namespace geiger::compare
