// The estimators of other sampling designs, each unbiased in its own model, and three that are not.
// They are here to be compared with the one that every report uses (Horvitz-Thompson, sums.h), and
// show why it is that one; docs/internals/estimators.md, section 6, proves what is said here.
//
// All of them look at the same thing: an object of which k bytes were put to
// trial, each succeeding with probability p = 1/T, and the first success.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "estimation/checked.h"

namespace geiger::research {

/// A sampled object as its trials left it.
class Drawn {
 public:
  /// `tried` k in [1, 2^62] bytes were tried, `offset` < k of them failed before the
  /// drawn one; `interval` T >= 1. For our samples k is the requested size. (A
  /// counter as TCMalloc's runs over the requested size plus one; k is that then.)
  [[nodiscard]] static estimation::Checked<Drawn> make(Bytes tried, std::uint64_t offset,
                                                       double interval);

  [[nodiscard]] double tried() const { return static_cast<double>(tried_); }
  [[nodiscard]] double interval() const { return interval_; }
  /// The drawn byte and its tail, k - offset: bytes that no failed trial stands for.
  [[nodiscard]] double untried() const { return static_cast<double>(tried_ - offset_); }
  /// W = T + k - f with f = offset + 1 (TCMalloc), which is q/p + untried() (.NET):
  /// the bytes that the sample stands for. E[W; sampled] = k.
  [[nodiscard]] double weight() const { return interval_ - 1 + untried(); }
  /// How many of the k trials would have succeeded, had they all been made: one
  /// and Binomial(k - offset - 1, 1/T) more, drawn with the 64 bits `random`. Its
  /// mean would make T draws() the same as weight(); only the draw itself has the
  /// law of a sampler that does try every byte (Memray, heapprofd).
  [[nodiscard]] std::uint64_t draws(std::uint64_t random) const;

 private:
  Drawn(Bytes tried, std::uint64_t offset, double interval)
      : tried_(tried), offset_(offset), interval_(interval) {}

  Bytes tried_;
  std::uint64_t offset_;
  double interval_;
};

/// A sum over samples that estimates without bias, and without bias its variance.
struct Unbiased {
  double value = 0;
  double variance = 0;

  void add(double value_of_sample, double variance_of_sample) {
    value += value_of_sample;
    variance += variance_of_sample;
  }
  void merge(const Unbiased& other) { add(other.value, other.variance); }
};

/// What the other designs make of a set of samples. Certain objects (pi = 1) add
/// their own size and one object to every value and nothing to any variance.
/// Additive, as NodeSums is: any subset, merged in any order.
struct DesignSums {
  std::uint64_t samples = 0;  ///< With pi < 1.
  std::uint64_t draws = 0;    ///< Of all samples.
  double untried = 0;         ///< .NET's u.
  double certain_bytes = 0;
  double certain_usable = 0;
  double certain_objects = 0;
  double usable_seen = 0;  ///< Of the samples with pi < 1.

  Unbiased failed_trials;          ///< Bytes, s q/p + u: .NET's second, TCMalloc's W.
  Unbiased failed_trials_objects;  ///< Sum of W/k.
  Unbiased usable;                 ///< Usable bytes, sum of a W/k: TCMalloc's unskew.
  Unbiased drawn;                  ///< Bytes, T times the draws: Memray, heapprofd.
  Unbiased drawn_objects;          ///< Sum of T draws / k.

  // Biased: no variance would say how far they are off.
  double rounded_bytes = 0;    ///< Sum of k round(W/k): TCMalloc's published profile.
  double rounded_objects = 0;  ///< Sum of round(W/k).
  double naive_bytes = 0;      ///< s T.
  double naive_objects = 0;    ///< Sum of T/k.

  /// `usable` bytes were handed out for the object; `random` as for Drawn::draws.
  void add(const Drawn& sample, Bytes usable, std::uint64_t random);
  void add_certain(Bytes size, Bytes usable);
  void merge(const DesignSums& other);
};

/// What jeprof and the legacy pprof format make of a call site that keeps only how
/// many samples it has and their bytes: every sample gets the weight of one of
/// average size, 1 / (1 - e^(-average/T)). Biased wherever sizes differ, since an
/// average over samples prefers large objects. Zero without samples.
struct AverageSizeScaling {
  double bytes = 0;
  double objects = 0;
};
/// `interval` T >= 1, `bytes` >= `samples`.
[[nodiscard]] estimation::Checked<AverageSizeScaling> scale_by_average_size(std::uint64_t samples,
                                                                            double bytes,
                                                                            double interval);

}  // namespace geiger::research
