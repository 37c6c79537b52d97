#include "estimation/counts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <random>
#include <tuple>

#include "base/check.h"
#include "estimation/thinning.h"

namespace geiger::estimation {
namespace {

bool comes_before(const Count& a, const Count& b) {
  return std::tie(a.size, a.lambda, a.value, a.keep) < std::tie(b.size, b.lambda, b.value, b.keep);
}

[[maybe_unused]] bool is_canonical(std::span<const Count> counts) {
  return std::ranges::is_sorted(counts, comes_before);
}

// Joins neighbours that are alike.
void join(Counts& counts) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < counts.size(); ++i) {
    if (is_alike(counts[last], counts[i])) {
      counts[last].count += counts[i].count;
    } else {
      counts[++last] = counts[i];
    }
  }
  if (!counts.empty()) counts.resize(last + 1);
}

// Each size and rate has a generator of its own, so that what becomes of one does not
// depend on which others are there.
std::mt19937_64 generator_for(const Count& count, std::uint64_t seed) {
  const Bytes part = count.value == kWholeSize ? 0 : count.value;
  const std::uint64_t rate = std::bit_cast<std::uint64_t>(count.lambda) + (part << 32 | part >> 32);
  std::seed_seq mixed{
      static_cast<std::uint32_t>(seed),       static_cast<std::uint32_t>(seed >> 32),
      static_cast<std::uint32_t>(count.size), static_cast<std::uint32_t>(count.size >> 32),
      static_cast<std::uint32_t>(rate),       static_cast<std::uint32_t>(rate >> 32)};
  return std::mt19937_64(mixed);
}

// How many of n survive, each by itself with probability `keep`.
std::uint64_t survivors(std::uint64_t n, double keep, std::mt19937_64& generator) {
  if (!(keep > 0)) return 0;
  if (keep >= 1) return n;
  return std::binomial_distribution<std::uint64_t>(n, keep)(generator);
}

}  // namespace

void make_canonical(Counts& counts) {
  std::erase_if(counts, [](const Count& count) {
    return count.count == 0 || count.value == 0 || !(count.lambda > 0) || !(count.keep > 0);
  });
  std::ranges::sort(counts, comes_before);
  join(counts);
}

Counts merged(std::span<const Count> a, std::span<const Count> b) {
  GEIGER_ASSERT(is_canonical(a) && is_canonical(b));
  Counts both;
  both.reserve(a.size() + b.size());
  std::ranges::merge(a, b, std::back_inserter(both), comes_before);
  join(both);
  return both;
}

void add(NodeSums& sums, const Count& kind, std::uint64_t count) {
  sums.add(kind.size, kind.lambda, count, kind.keep, kind.value);
}

double inclusion_probability(const Count& count) {
  return std::min(count.keep, 1.0) * inclusion_probability(count.size, count.lambda);
}

NodeSums sums_of(std::span<const Count> counts) {
  GEIGER_ASSERT(is_canonical(counts));
  NodeSums sums;
  for (const Count& count : counts) add(sums, count, count.count);
  return sums;
}

Counts thinned(std::span<const Count> counts, double interval, bool is_pure, std::uint64_t seed) {
  GEIGER_ASSERT(interval >= 1 && is_canonical(counts));
  const double to = rate_of_interval(std::max(interval, 1.0));
  Counts kept(counts.begin(), counts.end());
  for (Count& count : kept) {
    const bool is_sure = std::isinf(count.lambda);
    if (is_sure && !is_pure && static_cast<double>(count.size) >= interval) continue;
    if (!(count.lambda > to)) continue;
    std::mt19937_64 generator = generator_for(count, seed);
    const double keep = is_sure ? inclusion_probability(count.size, to)
                                : keep_probability(count.size, count.lambda, to);
    count = {count.size, to, survivors(count.count, keep, generator), count.value, count.keep};
  }
  make_canonical(kept);
  return kept;
}

}  // namespace geiger::estimation
