// False discoveries over whole lists of sites. Seeds are fixed. With 1000 comparisons a
// rate of .05 has a standard error of .007: the limit of .085 leaves five of them, so
// that a procedure with a true rate of .05 fails for a fresh seed with a probability
// below 1e-6.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "estimation/difference.h"
#include "estimation/test_sums.h"

namespace geiger::estimation::discoveries_simulation_test {
namespace {

constexpr double kT = 65536;
constexpr double kLimit = 0.085;
constexpr double kRate = 0.05;

struct Pair {
  Side before, after;
  bool is_changed = false;
};

// 600 sites of small objects by Zipf's law, 50,000 samples in all before and T_before /
// T_after times as many after; every `one_in`-th site changes by a factor of 1.2 to 4.
class Profiles {
 public:
  Profiles(std::uint64_t seed, double after_interval, int one_in)
      : generator_(seed), after_interval_(after_interval), one_in_(one_in) {
    for (int i = 1; i <= 600; ++i) harmonic_ += 1.0 / i;
  }

  std::vector<Pair> next() {
    std::vector<Pair> sites;
    for (int i = 1; i <= 600; ++i) {
      const double samples = 50000 / harmonic_ / i;
      const bool is_changed = one_in_ > 0 && i % one_in_ == 0;
      sites.push_back({draw(samples, kT),
                       draw(samples * (is_changed ? factor() : 1), after_interval_), is_changed});
    }
    return sites;
  }

 private:
  Side draw(double samples, double interval) {
    const auto n = std::poisson_distribution<std::uint64_t>(samples * kT / interval)(generator_);
    return {.sums = tiny(n, interval)};
  }
  double factor() {
    const double size = 1.2 + 2.8 * std::uniform_real_distribution<double>()(generator_);
    return generator_() % 2 == 0 ? size : 1 / size;
  }

  std::mt19937_64 generator_;
  double after_interval_;
  int one_in_;
  double harmonic_ = 0;
};

using PValue = std::function<double(const Pair&)>;

double mid_p(const Pair& site) { return difference(site.before, site.after, 0.95).p_value; }
double exact_p(const Pair& site) { return difference(site.before, site.after, 0.95).exact_p_value; }
double wald_p(const Pair& site) {
  const double value = site.after.sums.weighted_bytes - site.before.sums.weighted_bytes;
  const double variance = site.before.sums.bytes_variance + site.after.sums.bytes_variance;
  return variance > 0 ? std::erfc(std::abs(value) / std::sqrt(2 * variance)) : 1;
}

enum class Adjust : std::uint8_t { kNo, kYes };

// Means over comparisons.
struct Discoveries {
  double false_rate = 0;  ///< False ones over all, 0 of 0 counting 0.
  double right = 0;
};

Discoveries discoveries_of(Profiles profiles, const PValue& p_of, Adjust adjust, int comparisons) {
  Discoveries mean;
  for (int k = 0; k < comparisons; ++k) {
    std::vector<double> p;
    std::vector<bool> is_changed;
    for (const Pair& site : profiles.next()) {
      if (smallest_attainable_p(site.before, site.after) > kRate) continue;
      p.push_back(p_of(site));
      is_changed.push_back(site.is_changed);
    }
    if (adjust == Adjust::kYes) p = adjusted_p_values(p);
    double right = 0, wrong = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (p[i] <= kRate) (is_changed[i] ? right : wrong) += 1;
    }
    if (right + wrong > 0) mean.false_rate += wrong / (right + wrong) / comparisons;
    mean.right += right / comparisons;
  }
  return mean;
}

// Nothing changed: every discovery is false.
TEST(FalseDiscoveries, AreRareWhereNothingChanged) {
  for (const double after : {kT, 4 * kT}) {
    const Discoveries mid = discoveries_of({1, after, 0}, mid_p, Adjust::kYes, 1000);
    EXPECT_LE(mid.false_rate, kLimit) << after;
    const Discoveries exact = discoveries_of({1, after, 0}, exact_p, Adjust::kYes, 200);
    EXPECT_LE(exact.false_rate, kRate) << after;
  }
}

// Shows that the test above finds errors: p-values that are not adjusted, or of the difference over
// its standard error, make a discovery in nearly every comparison.
TEST(FalseDiscoveries, AreTheRuleForTheUsualProcedures) {
  EXPECT_GT(discoveries_of({1, kT, 0}, mid_p, Adjust::kNo, 100).false_rate, 0.9);
  EXPECT_GT(discoveries_of({1, 4 * kT, 0}, wald_p, Adjust::kYes, 100).false_rate, 0.9);
}

TEST(FalseDiscoveries, AreRareAmongRealOnes) {
  const Discoveries adjusted = discoveries_of({2, kT, 5}, mid_p, Adjust::kYes, 200);
  EXPECT_LE(adjusted.false_rate, kRate);
  EXPECT_GT(adjusted.right, 35);
  EXPECT_GT(discoveries_of({2, kT, 5}, mid_p, Adjust::kNo, 50).false_rate, 0.15);
}

}  // namespace
}  // namespace geiger::estimation::discoveries_simulation_test
