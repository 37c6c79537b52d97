// Each estimator against the truth of its own model, without chance: a few
// objects of at most 16 bytes in all have 2^n outcomes of their trials, and the sum
// over all of them is its exact mean and variance. Only draws() needs chance.
#include "research/designs.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include "estimation/sums.h"

namespace geiger::research {
namespace {

using Real = long double;

/// An object and what one outcome of its trials shows.
struct Seen {
  Bytes tried, usable;
  std::uint64_t offset;  ///< Of the first success.
  std::uint64_t draws;   ///< Successes, all bytes tried.
};

struct Object {
  Bytes tried, usable;
};

struct Moments {
  Real mean = 0, square = 0, variance_estimate = 0;

  void add(Real probability, Real value, Real variance) {
    mean += probability * value;
    square += probability * value * value;
    variance_estimate += probability * variance;
  }
  [[nodiscard]] Real variance() const { return square - mean * mean; }
};

/// Calls `visit` with every outcome and its probability.
void for_each_outcome(const std::vector<Object>& objects, Real interval,
                      const std::function<void(Real, const std::vector<Seen>&)>& visit) {
  Bytes total = 0;
  for (const Object& object : objects) total += object.tried;
  const Real p = 1 / interval;
  std::vector<Seen> seen;
  for (std::uint64_t outcome = 0; outcome < std::uint64_t{1} << total; ++outcome) {
    const int successes = std::popcount(outcome);
    const Real probability =
        std::pow(p, static_cast<Real>(successes)) *
        std::pow(1 - p, static_cast<Real>(static_cast<int>(total) - successes));
    seen.clear();
    std::uint64_t rest = outcome;
    for (const Object& object : objects) {
      const std::uint64_t trials = rest & ((std::uint64_t{1} << object.tried) - 1);
      rest >>= object.tried;
      if (trials == 0) continue;
      seen.push_back({object.tried, object.usable,
                      static_cast<std::uint64_t>(std::countr_zero(trials)),
                      static_cast<std::uint64_t>(std::popcount(trials))});
    }
    visit(probability, seen);
  }
}

Drawn drawn(const Seen& seen, double interval) {
  return Drawn::make(seen.tried, seen.offset, interval).value();
}

void expect_close(Real value, Real expected) {
  EXPECT_NEAR(static_cast<double>(value), static_cast<double>(expected),
              1e-12 * std::abs(static_cast<double>(expected)) + 1e-13);
}

/// Mean = truth, variance = formula, and the estimate of the variance has it as
/// its mean.
void expect_exact(const Moments& found, Real truth, Real variance) {
  expect_close(found.mean, truth);
  expect_close(found.variance(), variance);
  expect_close(found.variance_estimate, variance);
}

const std::vector<std::vector<Object>> kLayouts{{{1, 8}},
                                                {{5, 8}},
                                                {{12, 16}},
                                                {{1, 8}, {1, 8}},
                                                {{3, 8}, {7, 8}},
                                                {{4, 4}, {4, 4}, {4, 4}},
                                                {{1, 8}, {2, 8}, {9, 16}},
                                                {{14, 14}}};
constexpr double kIntervals[] = {1.25, 2, 3, 8, 100};

/// The moments of one estimator that sums over samples.
Moments moments_of(const std::vector<Object>& objects, double interval,
                   const std::function<Unbiased(const Seen&)>& contribution) {
  Moments moments;
  for_each_outcome(objects, interval, [&](Real probability, const std::vector<Seen>& seen) {
    Unbiased sum;
    for (const Seen& one : seen) sum.merge(contribution(one));
    moments.add(probability, sum.value, sum.variance);
  });
  return moments;
}

/// Sum over the objects of a function of their tried and usable bytes.
Real sum_of(const std::vector<Object>& objects, const std::function<Real(Real, Real)>& term) {
  Real sum = 0;
  for (const Object& object : objects) {
    sum += term(static_cast<Real>(object.tried), static_cast<Real>(object.usable));
  }
  return sum;
}

/// pi of k bytes.
Real pi_of(Real k, Real interval) { return 1 - std::pow(1 - 1 / interval, k); }

template <typename Check>
void for_each_case(const Check& check) {
  for (const auto& objects : kLayouts) {
    for (const double interval : kIntervals) check(objects, interval);
  }
}

/// The sums of one sample alone.
DesignSums sums_of(const Seen& seen, double interval) {
  DesignSums sums;
  sums.add(drawn(seen, interval), seen.usable, 1);
  return sums;
}

TEST(Designs, HorvitzThompsonIsExactInItsModel) {
  for_each_case([](const std::vector<Object>& objects, double interval) {
    const double lambda = estimation::rate_of_interval(interval);
    const auto one = [&](const Seen& seen) {
      estimation::NodeSums sums;
      sums.add(seen.tried, lambda);
      return sums;
    };
    expect_exact(moments_of(objects, interval,
                            [&](const Seen& seen) {
                              return Unbiased{one(seen).weighted_bytes, one(seen).bytes_variance};
                            }),
                 sum_of(objects, [](Real k, Real) { return k; }),
                 sum_of(objects, [&](Real k, Real) {
                   return k * k * (1 - pi_of(k, interval)) / pi_of(k, interval);
                 }));
    expect_exact(moments_of(objects, interval,
                            [&](const Seen& seen) {
                              return Unbiased{one(seen).objects, one(seen).objects_variance};
                            }),
                 static_cast<Real>(objects.size()), sum_of(objects, [&](Real k, Real) {
                   return (1 - pi_of(k, interval)) / pi_of(k, interval);
                 }));
  });
}

TEST(Designs, FailedTrialsAreExactInTheirModel) {
  for_each_case([](const std::vector<Object>& objects, double interval) {
    const Real per_sample = Real{interval} * (Real{interval} - 1);
    expect_exact(
        moments_of(objects, interval,
                   [&](const Seen& seen) { return sums_of(seen, interval).failed_trials; }),
        sum_of(objects, [](Real k, Real) { return k; }),
        sum_of(objects, [&](Real k, Real) { return per_sample * pi_of(k, interval); }));
    const Moments counted = moments_of(objects, interval, [&](const Seen& seen) {
      return sums_of(seen, interval).failed_trials_objects;
    });
    expect_exact(counted, static_cast<Real>(objects.size()), sum_of(objects, [&](Real k, Real) {
                   return per_sample * pi_of(k, interval) / (k * k);
                 }));
  });
}

// TCMalloc: the counter runs over one byte more than was requested, so k = r + 1,
// and what is wanted are the `a` bytes handed out.
TEST(Designs, TheUnskewedWeightIsExactForTheBytesHandedOut) {
  for_each_case([](const std::vector<Object>& objects, double interval) {
    const Real per_sample = Real{interval} * (Real{interval} - 1);
    const Moments unskewed = moments_of(
        objects, interval, [&](const Seen& seen) { return sums_of(seen, interval).usable; });
    expect_exact(unskewed, sum_of(objects, [](Real, Real a) { return a; }),
                 sum_of(objects, [&](Real k, Real a) {
                   return per_sample * pi_of(k, interval) * (a / k) * (a / k);
                 }));
  });
}

// s q/p + u, added up as the .NET design writes it, is the sum of the weights W.
TEST(Designs, TheTwoFormsAreOneEstimator) {
  for (const double interval : kIntervals) {
    const double p = 1 / interval;
    const double f = 4;  // 1-based: four failed trials before would be offset 4, f = 5.
    const Drawn sample = Drawn::make(9, 3, interval).value();
    EXPECT_DOUBLE_EQ(sample.weight(), interval + 9 - f);
    EXPECT_DOUBLE_EQ(sample.weight(), (1 - p) / p + sample.untried());
  }
}

// The offset carries no information about the total: averaged over it, given that the object is a
// sample, the weight is z/pi. That average is Horvitz-Thompson.
TEST(Designs, TheAverageWeightOfASizeIsItsWeightedBytes) {
  for (const double interval : kIntervals) {
    for (Bytes k = 1; k <= 14; ++k) {
      Moments weight;
      for_each_outcome({{k, k}}, interval, [&](Real probability, const std::vector<Seen>& seen) {
        if (!seen.empty()) weight.add(probability, drawn(seen[0], interval).weight(), 0);
      });
      estimation::NodeSums sums;
      sums.add(k, estimation::rate_of_interval(interval));
      expect_close(weight.mean / pi_of(static_cast<Real>(k), interval), sums.weighted_bytes);
    }
  }
}

TEST(Designs, DrawCountingIsExactInItsModel) {
  for_each_case([](const std::vector<Object>& objects, double interval) {
    const auto bytes = [&](const Seen& seen) {
      const double value = interval * static_cast<double>(seen.draws);
      return Unbiased{value, (interval - 1) * value};
    };
    expect_exact(moments_of(objects, interval, bytes),
                 sum_of(objects, [](Real k, Real) { return k; }),
                 sum_of(objects, [&](Real k, Real) { return k * (Real{interval} - 1); }));
    const auto counted = [&](const Seen& seen) {
      const auto k = static_cast<double>(seen.tried);
      return Unbiased{bytes(seen).value / k, bytes(seen).variance / k / k};
    };
    expect_exact(moments_of(objects, interval, counted), static_cast<Real>(objects.size()),
                 sum_of(objects, [&](Real k, Real) { return (Real{interval} - 1) / k; }));
  });
}

// Given the first success, the mean of T times the draws is the weight W: to take
// the mean instead of drawing would only show W under another name.
TEST(Designs, TheMeanNumberOfDrawsGivesTheWeight) {
  for (const double interval : kIntervals) {
    for (std::uint64_t offset = 0; offset < 10; ++offset) {
      Real draws = 0;
      Real probability_of_offset = 0;
      for_each_outcome({{10, 16}}, interval, [&](Real probability, const std::vector<Seen>& seen) {
        if (seen.empty() || seen[0].offset != offset) return;
        probability_of_offset += probability;
        draws += probability * static_cast<Real>(seen[0].draws);
      });
      expect_close(interval * draws / probability_of_offset,
                   Drawn::make(10, offset, interval).value().weight());
    }
  }
}

// The law of what is drawn again, 1 + Binomial(k - offset - 1, 1/T), against its
// probabilities: chi-square with 9 degrees of freedom, fixed seeds; beyond 40 in
// one of 100,000 choices of them.
TEST(Designs, DrawsTheRestOfTheTrials) {
  constexpr int kRuns = 40000;
  constexpr int kTail = 9;
  const Drawn sample = Drawn::make(13, 3, 3).value();
  std::vector<int> found(kTail + 1, 0);
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) ++found.at(sample.draws(seed) - 1);
  double chi_square = 0;
  for (int i = 0; i <= kTail; ++i) {
    const double choose =
        std::exp(std::lgamma(kTail + 1) - std::lgamma(i + 1) - std::lgamma(kTail - i + 1));
    const double expected = kRuns * choose * std::pow(1 / 3.0, i) * std::pow(2 / 3.0, kTail - i);
    chi_square += (found[i] - expected) * (found[i] - expected) / expected;
  }
  EXPECT_LT(chi_square, 40);
  EXPECT_EQ(Drawn::make(13, 12, 3).value().draws(7), 1U);
  EXPECT_EQ(Drawn::make(13, 0, 1).value().draws(7), 13U);
  EXPECT_EQ(sample.draws(5), sample.draws(5));
}

// Var(HT)/Var(failed trials) per object, in closed form: (y / sinh y)^2 for
// y = lambda z/2 up to the discreteness of bytes.
TEST(Designs, TheVarianceRatioIsTheDocumentedOne) {
  const double interval = 524288;
  const struct {
    double size, ratio;
  } rows[] = {{0.35, 0.99}, {0.92, 0.932}, {2, 0.724}, {3, 0.496}, {4, 0.304}, {10, 0.0045}};
  for (const auto& row : rows) {
    const double z = row.size * interval;
    const double pi = estimation::inclusion_probability(static_cast<Bytes>(z),
                                                        estimation::rate_of_interval(interval));
    const double ratio = z * z * (1 - pi) / pi / (interval * (interval - 1) * pi);
    const double y = row.size / 2;
    EXPECT_NEAR(ratio, std::pow(y / std::sinh(y), 2), 1e-5);
    EXPECT_NEAR(ratio, row.ratio, 0.0055);
  }
}

// How far off the biased ones are, as the exact mean over all outcomes for an object
// of 2 T: s T counts it as T, and a weight between .5 and 1.5 objects rounds to one,
// so both lose what was not sampled.
TEST(Designs, TheWarningRowsAreBiased) {
  const double interval = 8;
  const Real pi = pi_of(16, interval);
  Moments naive, rounded;
  for_each_outcome({{16, 16}}, interval, [&](Real probability, const std::vector<Seen>& seen) {
    if (seen.empty()) return;
    const DesignSums sums = sums_of(seen[0], interval);
    naive.add(probability, sums.naive_bytes, 0);
    rounded.add(probability, sums.rounded_bytes, 0);
  });
  expect_close(naive.mean, 8 * pi);
  expect_close(rounded.mean, 16 * pi);
}

// Objects of 64 bytes and of 2 T, equally many bytes of each: the average size of the
// samples is that of the large one, and the small ones are gone.
TEST(Designs, ScalingByTheAverageSizeLosesSmallObjects) {
  const double interval = 65536;
  const double lambda = estimation::rate_of_interval(interval);
  const double large = 2 * interval;
  const double bytes_each = 100 * interval;
  const double small_samples = bytes_each / 64 * estimation::inclusion_probability(64, lambda);
  const double large_samples =
      bytes_each / large * estimation::inclusion_probability(131072, lambda);
  const double samples = std::round(small_samples + large_samples);
  const double bytes = small_samples * 64 + large_samples * large;
  const auto scaled =
      scale_by_average_size(static_cast<std::uint64_t>(samples), bytes, interval).value();
  EXPECT_NEAR(scaled.bytes / (2 * bytes_each) - 1, -0.046, 0.02);
  EXPECT_LT(scaled.objects / (bytes_each / 64 + bytes_each / large), 0.01);
  // Where all sizes are one it is right.
  const auto same = scale_by_average_size(10, 10 * 4096, interval).value();
  EXPECT_NEAR(same.objects, 10 / estimation::inclusion_probability(4096, lambda),
              1e-5 * same.objects);  // 1/T for lambda: off by 1/(2T).
}

TEST(DesignSums, AddsCertainObjectsAndMergesInAnyOrder) {
  DesignSums certain, drawn_sums;
  certain.add_certain(5000, 5008);
  drawn_sums.add(Drawn::make(100, 40, 1024).value(), 112, 3);
  DesignSums one = certain;
  one.merge(drawn_sums);
  DesignSums other = drawn_sums;
  other.merge(certain);
  EXPECT_EQ(one.failed_trials.value, 5000 + 1024 + 100 - 41);
  EXPECT_EQ(one.failed_trials.variance, 1024.0 * 1023);
  EXPECT_EQ(one.usable.value, 5008 + (1024 + 100 - 41) * 1.12);
  EXPECT_EQ(one.certain_usable, 5008);
  EXPECT_EQ(one.failed_trials_objects.value, 1 + 10.83);
  EXPECT_EQ(one.naive_bytes, 5000 + 1024);
  EXPECT_EQ(one.rounded_objects, 1 + 11);
  EXPECT_EQ(one.samples, 1U);
  EXPECT_EQ(one.untried, 60);
  EXPECT_EQ(one.failed_trials.value, other.failed_trials.value);
  EXPECT_EQ(one.drawn.value, other.drawn.value);
  EXPECT_EQ(one.rounded_bytes, other.rounded_bytes);
}

TEST(Designs, RefuseWhatCannotBe) {
  EXPECT_EQ(Drawn::make(0, 0, 10).error(), estimation::InputError::kSize);
  EXPECT_EQ(Drawn::make(10, 10, 10).error(), estimation::InputError::kSize);
  EXPECT_EQ(Drawn::make(~Bytes{0}, 10, 10).error(), estimation::InputError::kSize);
  EXPECT_EQ(Drawn::make(10, 1, 0.5).error(), estimation::InputError::kInterval);
  EXPECT_EQ(Drawn::make(10, 1, std::nan("")).error(), estimation::InputError::kInterval);
  EXPECT_EQ(scale_by_average_size(2, 1, 10).error(), estimation::InputError::kSize);
  EXPECT_EQ(scale_by_average_size(2, 10, 0).error(), estimation::InputError::kInterval);
  EXPECT_EQ(scale_by_average_size(0, 0, 10).value().bytes, 0);
}

}  // namespace
}  // namespace geiger::research
