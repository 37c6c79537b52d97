// Simulates the sampling of a known site, as often as wanted: the ground on which intervals are
// tested.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "base/units.h"
#include "estimation/sums.h"
#include "research/coverage.h"

namespace geiger::research {

/// A site taken apart into what is certain and what is tried. One run costs
/// one step per sample, however many objects there are.
class SiteSampler {
 public:
  /// The total bytes of the site must fit 63 bits.
  explicit SiteSampler(const Site& site);

  /// True bytes of the site.
  [[nodiscard]] double truth() const { return truth_; }
  /// The certain objects, with E set: where every run starts.
  [[nodiscard]] const estimation::NodeSums& certain() const { return certain_; }
  /// Objects tried, by size.
  [[nodiscard]] const std::vector<SizeGroup>& tried() const { return tried_; }
  [[nodiscard]] double lambda() const { return lambda_; }

  /// Lays the tried objects end to end, jumps to the next drawn byte, calls visit(size, offset) for
  /// its object and goes on after that object.
  template <typename Visit>
  void run(std::mt19937_64& generator, const Visit& visit) const {
    for (Bytes position = 0;;) {
      const double u = static_cast<double>((generator() >> 11) + 1) * 0x1p-53;
      const double skip = std::floor(-std::log(u) / lambda_);
      if (!(skip < static_cast<double>(total_ - position))) return;
      position += std::min(static_cast<Bytes>(skip), total_ - position - 1);
      const auto start = std::upper_bound(starts_.begin(), starts_.end(), position) - 1;
      const Bytes size = tried_[static_cast<std::size_t>(start - starts_.begin())].size;
      const Bytes offset = (position - *start) % size;
      visit(size, offset);
      position += size - offset;
    }
  }

 private:
  estimation::NodeSums certain_;
  std::vector<SizeGroup> tried_;
  std::vector<Bytes> starts_;  ///< Of each group, when laid end to end.
  Bytes total_ = 0;
  double truth_ = 0;
  double lambda_ = 0;
};

}  // namespace geiger::research
