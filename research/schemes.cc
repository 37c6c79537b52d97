#include "research/schemes.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::research {
namespace {

constexpr double kInterval = static_cast<double>(kTableInterval);
constexpr Bytes kObject = 16;
constexpr Bytes kParts = 4;  // One of them is the site's.
constexpr double kJitter = 1.0 / 8;

/// 0 of a pattern without a period.
Bytes period_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::kEveryFourth:
      return kParts * kObject;
    case Pattern::kQuarterOfT:
      return kTableInterval;
    case Pattern::kShuffled:
      break;
  }
  return 0;
}

/// Bytes of the site among the first `all`, a multiple of kParts objects.
Bytes bytes_of_site(Pattern pattern, Bytes all) {
  const Bytes period = period_of(pattern);
  if (period == 0) return all / kParts;
  return all / period * (period / kParts) + std::min(all % period, period / kParts);
}

/// Whether the object at a byte is the site's. Shuffled objects are far more than samples:
/// each is the site's with the same chance.
bool is_of_site(Pattern pattern, Bytes at, std::mt19937_64& generator) {
  const Bytes period = period_of(pattern);
  if (period == 0) return uniform(generator) < 1.0 / kParts;
  return at % period < period / kParts;
}

/// Bytes before the first sampled one. The program allocated others before the pattern, so
/// that a stride may have come to any of its bytes.
double first_of(Scheme scheme, std::mt19937_64& generator) {
  const double u = uniform(generator);
  return scheme == Scheme::kBernoulli ? std::log1p(-u) / -estimation::rate_of_interval(kInterval)
                                      : u * kInterval;
}

/// Bytes from a sampled one to the next.
double stride_of(Scheme scheme, std::mt19937_64& generator) {
  if (scheme == Scheme::kFixed) return kInterval;
  if (scheme == Scheme::kJittered) return kInterval * (1 + kJitter * (2 * uniform(generator) - 1));
  return 1 + std::floor(first_of(scheme, generator));
}

/// Samples of the site among `all` bytes; of an object at most one.
std::uint64_t samples_of(Pattern pattern, Scheme scheme, Bytes all, std::mt19937_64& generator) {
  std::uint64_t samples = 0;
  const auto end = static_cast<double>(all);
  double position = std::floor(first_of(scheme, generator));
  while (position < end) {
    const auto at = static_cast<Bytes>(position);
    samples += is_of_site(pattern, at, generator) ? 1 : 0;
    const auto behind = static_cast<double>(at - at % kObject + kObject);
    // Chance begins again behind a sampled object, as it does in recordings.
    position = scheme == Scheme::kBernoulli ? behind + stride_of(scheme, generator) - 1
                                            : position + stride_of(scheme, generator);
  }
  return samples;
}

void add_replicate(SchemeTally& tally, std::uint64_t samples, double truth, double level) {
  estimation::NodeSums sums;
  sums.could_have_sampled(kInterval);
  if (samples > 0) sums.add(kObject, estimation::rate_of_interval(kInterval), samples);
  const estimation::Estimate estimate =
      estimation::estimate_bytes(sums, level, estimation::Form::kTotal);
  tally.intervals.add(estimate.interval, truth);
  const double error = (sums.weighted_bytes - truth) / truth;
  tally.error_squares += error * error;
}

}  // namespace

std::string_view name_of(Pattern pattern) {
  constexpr std::array<std::string_view, kPatterns> kNames{"every 4th", "T/4 of T", "shuffled"};
  return kNames.at(static_cast<std::size_t>(pattern));
}

std::string_view name_of(Scheme scheme) {
  constexpr std::array<std::string_view, kSchemes> kNames{"Bernoulli", "jittered", "fixed stride"};
  return kNames.at(static_cast<std::size_t>(scheme));
}

void SchemeTally::merge(const SchemeTally& other) {
  intervals.merge(other.intervals);
  error_squares += other.error_squares;
}

double SchemeTally::error() const {
  if (intervals.counted == 0) return 0;
  return std::sqrt(error_squares / static_cast<double>(intervals.counted));
}

PatternTally simulate_pattern(const TableSettings& settings, Pattern pattern, double samples,
                              std::uint64_t block) {
  constexpr std::uint64_t kPatternSeeds = 1000;  // Apart from those of mixes.
  std::mt19937_64 generator =
      generator_of(settings, kPatternSeeds + static_cast<std::uint64_t>(pattern), samples, block);
  PatternTally tally{};
  for_replicates(settings, samples, block, [&](double expected) {
    const auto groups = static_cast<Bytes>(std::ceil(expected * kInterval / kObject));
    const Bytes all = groups * kParts * kObject;
    const auto truth = static_cast<double>(bytes_of_site(pattern, all));
    for (std::size_t i = 0; i < kSchemes; ++i) {
      const auto scheme = static_cast<Scheme>(i);
      add_replicate(tally[i], samples_of(pattern, scheme, all, generator), truth, settings.level);
    }
  });
  return tally;
}

}  // namespace geiger::research
