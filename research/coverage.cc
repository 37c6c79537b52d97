#include "research/coverage.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "research/site_sampler.h"

namespace geiger::research {
namespace {

// Collects weighted outcomes of runs.
class Tally {
 public:
  Tally(double truth, double level, estimation::Form form)
      : truth_(truth), level_(level), form_(form) {}

  void add(const estimation::NodeSums& sums, double weight) {
    total_ += weight;
    if (sums.samples > 0) listed_ += weight;
    if (form_ == estimation::Form::kListed && sums.samples == 0) return;
    const estimation::Interval interval = estimation::estimate_bytes(sums, level_, form_).interval;
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
  estimation::Form form_;
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

Coverage enumerated(const SiteSampler& sampler, double level, estimation::Form form) {
  Tally tally(sampler.truth(), level, form);
  if (sampler.tried().empty()) {
    tally.add(sampler.certain(), 1);
    return tally.shares();
  }
  const SizeGroup group = sampler.tried().front();
  const double pi = estimation::inclusion_probability(group.size, sampler.lambda());
  const double missed = std::exp(-sampler.lambda() * static_cast<double>(group.size));
  for_each_binomial(group.count, pi, missed, [&](std::uint64_t s, double weight) {
    estimation::NodeSums sums = sampler.certain();
    sums.add(group.size, sampler.lambda(), s);
    tally.add(sums, weight);
  });
  return tally.shares();
}

Coverage simulated(const SiteSampler& sampler, double level, estimation::Form form,
                   std::uint64_t runs, std::uint64_t seed) {
  Tally tally(sampler.truth(), level, form);
  std::mt19937_64 generator(seed);
  for (std::uint64_t i = 0; i < runs; ++i) {
    estimation::NodeSums sums = sampler.certain();
    sampler.run(generator, [&](Bytes size, Bytes) { sums.add(size, sampler.lambda()); });
    tally.add(sums, 1);
  }
  Coverage coverage = tally.shares();
  // Two runs more of either outcome: never 0, also where all runs agreed.
  const double counted = tally.counted() + 4;
  const double share = (coverage.covered * tally.counted() + 2) / counted;
  coverage.standard_error = std::sqrt(share * (1 - share) / counted);
  return coverage;
}

}  // namespace

Coverage predicted_coverage(const Site& site, double level, estimation::Form form) {
  const SiteSampler sampler(site);
  if (sampler.tried().size() <= 1) return enumerated(sampler, level, form);
  return simulated(sampler, level, form, 20000, 1);
}

Coverage simulated_coverage(const Site& site, double level, estimation::Form form,
                            std::uint64_t runs, std::uint64_t seed) {
  return simulated(SiteSampler(site), level, form, runs, seed);
}

}  // namespace geiger::research
