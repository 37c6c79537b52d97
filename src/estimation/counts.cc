#include "estimation/counts.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace geiger::estimation {
namespace {

bool comes_before(const Count& a, const Count& b) {
  return std::tie(a.size, a.lambda, a.value, a.keep) < std::tie(b.size, b.lambda, b.value, b.keep);
}

[[maybe_unused]] bool is_canonical(std::span<const Count> counts) {
  return std::ranges::is_sorted(counts, comes_before);
}

// Joins equal neighbours.
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

}  // namespace

void make_canonical(Counts& counts) {
  std::erase_if(counts, [](const Count& count) {
    return count.count == 0 || count.value == 0 || !(count.lambda > 0) || !(count.keep > 0);
  });
  std::ranges::sort(counts, comes_before);
  join(counts);
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

}  // namespace geiger::estimation
