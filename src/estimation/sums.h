// The additive sums of a set of samples, from which every estimate derives.
//
// Notation (docs/internals/estimators.md): z = object size, lambda = rate per byte,
// pi = 1 - exp(-lambda z) its inclusion probability, w = z / pi the weighted
// bytes, d = w - z the bytes not seen per sample.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "base/units.h"

namespace geiger::estimation {

/// The number of trials that decide whether an object is a sample: one for each of its bytes, or,
/// without bytes, one (docs/internals/estimators.md, section 2.2).
[[nodiscard]] constexpr Bytes tried_bytes(Bytes size) { return size == 0 ? 1 : size; }

/// A sample counts with its whole size, not with a part of it.
inline constexpr Bytes kWholeSize = std::numeric_limits<Bytes>::max();

/// Sums over samples; differences of them are sums over the remaining samples.
struct SampleSums {
  std::uint64_t samples = 0;          ///< s: sampled with pi < 1.
  std::uint64_t certain_samples = 0;  ///< XC: objects recorded with pi = 1.
  double certain_bytes = 0;           ///< X: their bytes.
  double bytes_seen = 0;              ///< B = sum z.
  double weighted_bytes = 0;          ///< Y = sum w (Horvitz-Thompson).
  double bytes_variance = 0;          ///< V = sum w d (unbiased estimate of Var Y).
  double objects = 0;                 ///< C = sum 1/pi.
  double objects_variance = 0;        ///< VC = sum (1-pi)/pi^2.

  /// Estimates, certain objects included, without their errors: for sorting and cutting off, and
  /// for formats that hold numbers only.
  [[nodiscard]] double all_bytes() const { return weighted_bytes + certain_bytes; }
  [[nodiscard]] double all_objects() const {
    return objects + static_cast<double>(certain_samples);
  }

  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the 0 of a comparison for a pointer.
  friend auto operator<=>(const SampleSums&, const SampleSums&) = default;
};

/// The sums of a node of a profile. Merging adds (maxima for E, E_o, c and z_max, minima for
/// E_least and z_min), so it works across threads, processes and hosts in any order, up to the last
/// bits, which counts.h preserves too.
///
/// Where another property y of the objects is summed (resident bytes, overhead), y stands
/// for z in X, B, Y, V and the largest weight, while pi stays that of z. A missed object may
/// then weigh y/z times E: samples raise E by their ratio if it is above 1, and scale E_least by
/// it. E_o is without these ratios, for the number of objects. Samples with an unknown y in [0, z]
/// are kept separately: they only raise upper limits.
struct NodeSums : SampleSums {
  double largest_interval = 0;       ///< E = max 1/lambda over all that could be sampled.
  double smallest_interval = 0;      ///< E_least = min 1/lambda of samples seen; 0 = none.
  double largest_object_weight = 0;  ///< c = max 1/pi seen.
  double largest_weight = 0;         ///< max z/pi seen.
  double object_interval = 0;        ///< E_o = max 1/lambda, over the share kept.
  double smallest_size = 0;          ///< z_min = min z seen, 1 without bytes; 0 = none.
  double largest_size = 0;           ///< z_max.
  /// Samples with an unknown y, each with its whole size: not in the other sums, but in E, E_least
  /// and the maxima.
  SampleSums open = {};

  /// Adds `count` samples of `size` bytes drawn with rate `lambda` and then kept
  /// with probability `keep` in (0, 1] (1 unless thinned): pi = keep (1 - e^(-lambda
  /// size)). lambda = +inf (T = 1) gives pi = keep; pi = 1 that way is certain.
  /// Raises E and E_o to the values implied by these samples, lowers E_least. With a rate or keep
  /// that is not positive nothing can have been sampled: adds nothing. `value`: the bytes y to add
  /// for each instead of its size; 0 adds nothing.
  void add(Bytes size, double lambda, std::uint64_t count = 1, double keep = 1.0,
           Bytes value = kWholeSize);
  /// Adds `count` certain objects (pi = 1) of `size` bytes each.
  void add_certain(Bytes size, std::uint64_t count = 1);
  /// Records that allocations could have been sampled at this interval, even if none was: raises E.
  /// Call it for every epoch and thinning in force. T = 1 misses nothing and does not change E.
  /// Raises E_o too, without the ratio y/z >= 1 that is in the interval.
  void could_have_sampled(double interval, double ratio = 1);
  /// As could be any other part of `whole`.
  void could_have_sampled(const NodeSums& whole);
  /// Records that nothing can have been missed.
  void miss_nothing() { largest_interval = object_interval = 0; }
  /// Records that only objects without bytes can have been missed.
  void miss_no_bytes() { largest_interval = 0; }
  void merge(const NodeSums& other);
  /// Converts sums over `instants` instants, each with weight 1, to those of their mean: divides
  /// additive sums, rounds numbers of samples up, and keeps E, E_least and the maxima. V is then an
  /// upper bound: instants are assumed to share all their samples. Does nothing for 1.
  /// Requires instants > 0.
  void average_over(double instants);
  /// Adds samples with an unknown y: `whole` are their sums with y = z.
  void leave_open(const NodeSums& whole);
  [[nodiscard]] bool has_open() const { return open.samples + open.certain_samples > 0; }
  /// The sums if every open sample had its whole size.
  [[nodiscard]] NodeSums at_most() const;

  /// An arbitrary total order: adding sums in this order always gives the same bits.
  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the 0 of a comparison for a pointer.
  friend auto operator<=>(const NodeSums&, const NodeSums&) = default;
};

/// The sums of the samples in `whole` but not in `part`: exactly empty if the part has all samples,
/// and never negative, unlike differences of rounded sums. E, E_least, c and the other extremes
/// stay those of the whole, which are conservative for any part.
[[nodiscard]] NodeSums rest_of(const NodeSums& part, const NodeSums& whole);

/// pi(size) = 1 - e^(-lambda size), to full precision; pi(0) = pi(1). Requires lambda > 0.
[[nodiscard]] double inclusion_probability(Bytes size, double lambda);

/// lambda = -log1p(-1/T); +inf at T = 1. Requires T >= 1.
[[nodiscard]] double rate_of_interval(double interval);

}  // namespace geiger::estimation
