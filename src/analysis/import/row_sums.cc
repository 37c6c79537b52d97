#include "analysis/import/row_sums.h"

#include <algorithm>
#include <cmath>

namespace geiger::imports {
namespace {

using estimation::Count;

/// The sums are whole numbers, moved by less than one to keep their columns' totals.
constexpr double kRounding = 1.5;
/// Relative: beyond what doubles do to sums of many samples.
constexpr double kNoise = 1e-9;

/// `count` samples that stand for `weight` objects of `size` bytes each.
Count of_weight(double size, double weight, std::uint64_t count) {
  const auto whole = static_cast<Bytes>(std::llround(std::max(size, 1.0)));
  if (!(weight > 1)) return {whole, estimation::kCertainRate, count};
  return {whole, -std::log1p(-1 / weight) / static_cast<double>(whole), count};
}

/// Two weights x1 > x2 >= 1, n samples of x1, with the mean m and the variance v of all s: x1 = m +
/// sqrt(v (s - n)/n), x2 = m - sqrt(v n/(s - n)), and x2 >= 1 for n <= s (m - 1)^2/(v + (m - 1)^2).
/// The largest n gives the smallest x1.
std::vector<Count> of_two_weights(double size, double mean, double variance, std::uint64_t count) {
  const double above = (mean - 1) * (mean - 1);
  const auto samples = static_cast<double>(count);
  const double most = std::floor(samples * above / (variance + above));
  const double n = std::clamp(most, 1.0, std::floor(samples / 2));
  const double high = mean + std::sqrt(variance * (samples - n) / n);
  const double low = mean - std::sqrt(variance * n / (samples - n));
  const auto first = static_cast<std::uint64_t>(n);
  return {of_weight(size, high, first), of_weight(size, low, count - first)};
}

}  // namespace

std::vector<Count> samples_behind(const RowSums& row, double lambda) {
  if (row.samples == 0 || !(row.bytes > 0)) return {};
  const auto samples = static_cast<double>(row.samples);
  const auto size = static_cast<double>(row.size);
  const double slack = kRounding + kNoise * row.bytes;
  const bool is_certain = row.bytes_variance == 0 && std::abs(row.objects - samples) < 1;
  if (is_certain) return {of_weight(row.bytes / samples, 1, row.samples)};
  const double pi = estimation::inclusion_probability(Count{row.size, lambda, 1});
  if (std::abs(samples * size / pi - row.bytes) <= slack) return {{row.size, lambda, row.samples}};
  // Parts of objects (resident bytes): the average stands for each.
  const bool is_of_sizes = std::abs(row.objects * size - row.bytes) <= size + slack;
  const double summed = is_of_sizes ? size : row.bytes / std::max(row.objects, samples);
  const double mean = std::max(row.bytes / (samples * summed), 1.0);
  const double square = row.bytes_variance / (samples * summed * summed) + mean;
  const double variance = square - mean * mean;
  const bool is_mixed = row.samples > 1 && variance > 1e-6 * mean * mean;
  if (!is_mixed) return {of_weight(summed, mean, row.samples)};
  return of_two_weights(summed, mean, variance, row.samples);
}

std::uint64_t unscaled(std::int64_t value, double pi) {
  if (value <= 0 || !(pi > 0)) return 0;
  const double least = static_cast<double>(value) * pi;
  // Rounded down, the value is of exactly one count: those of neighbours lie 1/pi >= 1 apart.
  const double up = std::ceil(least - 1e-9 * (1 + least));
  const double count = up < least + pi ? up : std::round(least);
  return static_cast<std::uint64_t>(std::min(count, 0x1p62));
}

}  // namespace geiger::imports
