// The additive sums of a set of samples, from which every estimate derives.
//
// Notation (docs/estimators.md): z = object size, lambda = rate per byte,
// pi = 1 - exp(-lambda z) its inclusion probability, w = z / pi the weighted
// bytes, d = w - z the bytes not seen per sample.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "base/units.h"

namespace geiger::estimation {

/// The bytes whose trials decide whether an object is a sample: its own, or if it has none the
/// next one (docs/estimators.md, section 2.2).
[[nodiscard]] constexpr Bytes tried_bytes(Bytes size) { return size == 0 ? 1 : size; }

/// A sample stands for its whole size, not for a part of it.
inline constexpr Bytes kWholeSize = std::numeric_limits<Bytes>::max();

/// Sums that add up over samples, and whose difference is of the samples that only one has.
struct SampleSums {
  std::uint64_t samples = 0;          ///< s: sampled with pi < 1.
  std::uint64_t certain_samples = 0;  ///< XC: objects recorded with pi = 1.
  double certain_bytes = 0;           ///< X: their bytes.
  double bytes_seen = 0;              ///< B = sum z.
  double weighted_bytes = 0;          ///< Y = sum w (Horvitz-Thompson).
  double bytes_variance = 0;          ///< V = sum w d (unbiased estimate of Var Y).
  double objects = 0;                 ///< C = sum 1/pi.
  double objects_variance = 0;        ///< VC = sum (1-pi)/pi^2.

  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the 0 of a comparison for a pointer.
  friend auto operator<=>(const SampleSums&, const SampleSums&) = default;
};

/// The sums that a node of a profile keeps. Merging adds (maxima for E and c, the minimum for
/// E_least), so it holds over threads, processes and hosts in any order, up to the last bits, which
/// counts.h keeps too.
///
/// Where another property y of the objects is summed (resident bytes, overhead), y stands
/// for z in X, B, Y, V, CB and the largest weight, while pi stays that of z. An object
/// that was missed may then weigh y/z times E: samples raise E by their ratio where it
/// is above 1, and scale E_least by it. Samples whose y is not known, but lies in [0, z],
/// stand apart: they raise upper limits only.
struct NodeSums : SampleSums {
  double covariance = 0;             ///< CB = sum z (1-pi)/pi^2.
  double largest_interval = 0;       ///< E = max 1/lambda over all that could be sampled.
  double smallest_interval = 0;      ///< E_least = min 1/lambda of samples seen; 0 = none.
  double largest_object_weight = 0;  ///< c = max 1/pi seen.
  double largest_weight = 0;         ///< max z/pi seen.
  /// Samples whose y is not known, each taken with all of its size: in no other sum, but in E,
  /// E_least and the maxima.
  SampleSums open = {};

  /// Adds `count` samples of `size` bytes drawn with rate `lambda` and then kept
  /// with probability `keep` in (0, 1] (1 unless thinned): pi = keep (1 - e^(-lambda
  /// size)). lambda = +inf (T = 1) gives pi = keep; pi = 1 that way is certain.
  /// Raises E to what these samples alone imply, lowers E_least. At a rate that is not
  /// positive or keep <= 0 nothing can have been sampled: nothing is added.
  /// `value`: the bytes y to sum for each in place of its size; of 0 there is nothing to
  /// sum.
  void add(Bytes size, double lambda, std::uint64_t count = 1, double keep = 1.0,
           Bytes value = kWholeSize);
  /// Adds `count` certain objects (pi = 1) of `size` bytes to sum.
  void add_certain(Bytes size, std::uint64_t count = 1);
  /// States that allocations could have been sampled at this interval though
  /// none was: raises E. Call it for every epoch and thinning in force. T = 1
  /// misses nothing and leaves E alone.
  void could_have_sampled(double interval);
  void merge(const NodeSums& other);
  /// Makes of sums over `instants` instants, each with its own weight 1, those of their mean: what
  /// adds up is divided, numbers of samples are rounded up, and E, E_least and the maxima stay. V
  /// is then an upper bound: instants are taken to share all of their samples. Does nothing at 1.
  /// Requires instants > 0.
  void average_over(double instants);
  /// Adds samples whose y is not known: `whole` are their sums with z for y.
  void leave_open(const NodeSums& whole);
  [[nodiscard]] bool has_open() const { return open.samples + open.certain_samples > 0; }
  /// The sums if whatever is open had all of its size.
  [[nodiscard]] NodeSums at_most() const;

  /// An order without a meaning of its own that distinguishes different sums: adding sums in this
  /// order gives the same bits wherever they came from.
  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the 0 of a comparison for a pointer.
  friend auto operator<=>(const NodeSums&, const NodeSums&) = default;
};

/// The sums of what is in `whole` and not in `part`: exactly empty where the part has
/// all samples, and never negative, as differences of rounded sums may be. E stays
/// that of the whole; E_least and c do too, which are safe for any part of it.
[[nodiscard]] NodeSums rest_of(const NodeSums& part, const NodeSums& whole);

/// pi(size) = 1 - e^(-lambda size), to full precision; of size 0 that of 1. Requires
/// lambda > 0.
[[nodiscard]] double inclusion_probability(Bytes size, double lambda);

/// lambda = -log1p(-1/T); +inf at T = 1. Requires T >= 1.
[[nodiscard]] double rate_of_interval(double interval);

}  // namespace geiger::estimation
