#include "estimation/coverage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace geiger::estimation {
namespace {

// A site taken apart: what is certain, and what is put to trial by size.
struct Parts {
  NodeSums certain;  // With E set: where every run starts.
  std::vector<SizeGroup> tried;
  double truth = 0;
  double lambda = 0;
};

Parts take_apart(const Site& site) {
  Parts parts;
  const auto interval = static_cast<double>(site.interval);
  parts.lambda = rate_of_interval(interval);
  parts.certain.could_have_sampled(interval);
  std::map<Bytes, std::uint64_t> tried;
  for (const SizeGroup& group : site.objects) {
    parts.truth += static_cast<double>(group.size) * static_cast<double>(group.count);
    const bool is_certain = site.interval == 1 || (group.size >= site.interval && !site.is_pure);
    if (is_certain) {
      parts.certain.add_certain(group.size, group.count);
    } else if (group.size > 0 && group.count > 0) {
      tried[group.size] += group.count;
    }
  }
  for (const auto& [size, count] : tried) parts.tried.push_back({size, count});
  return parts;
}

// Collects weighted outcomes of runs.
class Tally {
 public:
  Tally(double truth, double level, Form form) : truth_(truth), level_(level), form_(form) {}

  void add(const NodeSums& sums, double weight) {
    total_ += weight;
    if (sums.samples > 0) listed_ += weight;
    if (form_ == Form::kListed && sums.samples == 0) return;
    const Interval interval = estimate_bytes(sums, level_, form_).interval;
    counted_ += weight;
    if (interval.hi < truth_) below_ += weight;
    if (interval.lo > truth_) above_ += weight;
  }

  [[nodiscard]] Coverage shares() const {
    if (counted_ == 0) return {.covered = 1};
    return {.covered = (counted_ - below_ - above_) / counted_,
            .missed_below = below_ / counted_,
            .missed_above = above_ / counted_,
            .listed = listed_ / total_};
  }
  [[nodiscard]] double counted() const { return counted_; }

 private:
  double truth_, level_;
  Form form_;
  double total_ = 0, listed_ = 0, counted_ = 0, below_ = 0, above_ = 0;
};

// Adds the outcomes s of a binomial law, from its mode outwards by the ratio of
// neighbours; the tally divides by the sum, so no factorial is needed. What is
// left out is below 1e-18 of the mode on either side.
template <typename Add>
void for_each_binomial(std::uint64_t n, double pi, double missed, const Add& add) {
  constexpr double kNegligible = 1e-18;
  const auto count = static_cast<double>(n);
  const auto mode = static_cast<std::uint64_t>(std::min(count, (count + 1) * pi));
  const double odds = pi / missed;
  double weight = 1;
  for (std::uint64_t s = mode; weight > kNegligible; ++s) {
    add(s, weight);
    if (s == n) break;
    weight *= odds * static_cast<double>(n - s) / static_cast<double>(s + 1);
  }
  weight = 1;
  for (std::uint64_t s = mode; s > 0; --s) {
    weight *= static_cast<double>(s) / (odds * static_cast<double>(n - s + 1));
    if (weight <= kNegligible) break;
    add(s - 1, weight);
  }
}

Coverage enumerated(const Parts& parts, double level, Form form) {
  Tally tally(parts.truth, level, form);
  if (parts.tried.empty()) {
    tally.add(parts.certain, 1);
    return tally.shares();
  }
  const SizeGroup group = parts.tried.front();
  const double pi = inclusion_probability(group.size, parts.lambda);
  const double missed = std::exp(-parts.lambda * static_cast<double>(group.size));
  for_each_binomial(group.count, pi, missed, [&](std::uint64_t s, double weight) {
    NodeSums sums = parts.certain;
    sums.add(group.size, parts.lambda, s);
    tally.add(sums, weight);
  });
  return tally.shares();
}

// One run of the process over the tried objects laid end to end: jump to the
// next drawn byte, take its object, go on behind that. Costs one step per sample.
class Simulation {
 public:
  Simulation(const Parts& parts, std::uint64_t seed) : parts_(parts), generator_(seed) {
    for (const SizeGroup& group : parts.tried) {
      starts_.push_back(total_);
      total_ += group.size * group.count;
    }
  }

  NodeSums run() {
    NodeSums sums = parts_.certain;
    for (Bytes position = 0;;) {
      const double skip = draw_skip();
      if (!(skip < static_cast<double>(total_ - position))) return sums;
      position += std::min(static_cast<Bytes>(skip), total_ - position - 1);
      const auto group = std::upper_bound(starts_.begin(), starts_.end(), position) - 1;
      const Bytes size = parts_.tried[group - starts_.begin()].size;
      sums.add(size, parts_.lambda);
      position = *group + ((position - *group) / size + 1) * size;
    }
  }

 private:
  double draw_skip() {
    const double u = static_cast<double>((generator_() >> 11) + 1) * 0x1p-53;
    return std::floor(-std::log(u) / parts_.lambda);
  }

  const Parts& parts_;
  std::mt19937_64 generator_;
  std::vector<Bytes> starts_;
  Bytes total_ = 0;
};

Coverage simulated(const Parts& parts, double level, Form form, std::uint64_t runs,
                   std::uint64_t seed) {
  Tally tally(parts.truth, level, form);
  Simulation simulation(parts, seed);
  for (std::uint64_t i = 0; i < runs; ++i) tally.add(simulation.run(), 1);
  Coverage coverage = tally.shares();
  // Two runs more of either outcome: never 0, also where all runs agreed.
  const double counted = tally.counted() + 4;
  const double share = (coverage.covered * tally.counted() + 2) / counted;
  coverage.standard_error = std::sqrt(share * (1 - share) / counted);
  return coverage;
}

}  // namespace

Coverage predicted_coverage(const Site& site, double level, Form form) {
  const Parts parts = take_apart(site);
  if (parts.tried.size() <= 1) return enumerated(parts, level, form);
  return simulated(parts, level, form, 20000, 1);
}

Coverage simulated_coverage(const Site& site, double level, Form form, std::uint64_t runs,
                            std::uint64_t seed) {
  return simulated(take_apart(site), level, form, runs, seed);
}

}  // namespace geiger::estimation
