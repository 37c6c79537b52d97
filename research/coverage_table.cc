#include "research/coverage_table.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>

#include "estimation/distributions/gamma.h"
#include "estimation/distributions/negative_binomial.h"
#include "estimation/sums.h"
#include "research/intervals.h"
#include "research/site_sampler.h"

namespace geiger::research {
namespace {

constexpr double kT = static_cast<double>(kTableInterval);
constexpr std::size_t kClasses = 256;  // Of sizes in a site.
/// By number of objects, for half of the bytes: T/32 of 64 bytes for one of 2 T.
constexpr double kSmallOfHalves = (kT / 32) / (kT / 32 + 1);

/// Size at the quantile `p` in [0, 1) of the objects of a mix, in bytes.
double size_at(Mix mix, double p) {
  switch (mix) {
    case Mix::kConst16:
      return 16;
    case Mix::kLognormal: {
      const double inside = std::clamp(p, 1e-12, 1 - 1e-12);
      return 100 * std::exp(1.5 * estimation::upper_normal_quantile(1 - inside));
    }
    case Mix::kPower: {
      constexpr double kExponent = 1.1;
      const double beyond = std::pow(16 / (16 * kT), kExponent);
      return 16 * std::pow(1 - p * (1 - beyond), -1 / kExponent);
    }
    case Mix::kHuge:
      return kT / 4 * std::pow(32.0, p);
    case Mix::kHalves:
      return p < kSmallOfHalves ? 64 : 2 * kT;
    case Mix::kConstT:
      return kT;
    case Mix::kConst2T:
      return 2 * kT;
    case Mix::kConst3T:
      return 3 * kT;
  }
  return 16;
}

/// The sizes of a mix by the samples they give rise to: classes of equal expected
/// samples, so that a site of few samples has its share of rare large objects.
class SizesBySamples {
 public:
  explicit SizesBySamples(Mix mix) {
    constexpr int kPoints = 20000;
    double sum = 0;
    for (int i = 0; i < kPoints; ++i) {
      // Points lie densely where few objects are: p = 1 - (1 - x)^4.
      const double x = (i + 0.5) / kPoints;
      const double density = 4 * std::pow(1 - x, 3);
      const double size = size_at(mix, 1 - std::pow(1 - x, 4));
      sum += density * -std::expm1(-estimation::rate_of_interval(kT) * size);
      sizes_.push_back(size);
      cumulative_.push_back(sum);
    }
  }

  /// The size up to which a `share` in [0, 1) of the samples comes from.
  [[nodiscard]] double at(double share) const {
    const auto place = std::ranges::upper_bound(cumulative_, share * cumulative_.back());
    const auto index = std::min<std::ptrdiff_t>(place - cumulative_.begin(),
                                                static_cast<std::ptrdiff_t>(sizes_.size()) - 1);
    return sizes_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] bool is_one_size() const { return sizes_.front() == sizes_.back(); }

  [[nodiscard]] static const SizesBySamples& of(Mix mix) {
    static const std::vector<SizesBySamples> known = [] {
      std::vector<SizesBySamples> all;
      for (std::size_t i = 0; i < kMixes; ++i) all.emplace_back(static_cast<Mix>(i));
      return all;
    }();
    return known[static_cast<std::size_t>(mix)];
  }

 private:
  std::vector<double> sizes_, cumulative_;
};

std::uint64_t rounded_at_random(double value, std::mt19937_64& generator) {
  return static_cast<std::uint64_t>(value + uniform(generator));
}

/// One replicate: a site, its samples, and what every method makes of them.
void add_replicate(CellTally& tally, const Site& site, std::mt19937_64& generator,
                   IntervalBook& book) {
  const SiteSampler sampler(site);
  estimation::NodeSums sums = sampler.certain();
  double untried = 0;
  sampler.run(generator, [&](Bytes size, Bytes offset) {
    sums.add(size, sampler.lambda());
    untried += static_cast<double>(size - offset);
  });
  for (std::size_t i = 0; i < kMethods; ++i) {
    const auto method = static_cast<Method>(i);
    if (method == Method::kListed && sums.samples == 0) continue;
    tally[i].add(book.interval(method, sums, untried, kT), sampler.truth());
  }
}

}  // namespace

std::string_view name_of(Mix mix) {
  constexpr std::array<std::string_view, kMixes> kNames{
      "const16", "lognormal", "power", "huge", "halves", "constT", "const2T", "const3T"};
  return kNames.at(static_cast<std::size_t>(mix));
}

std::string_view name_of(Method method) {
  constexpr std::array<std::string_view, kMethods> kNames{
      "FF-SG", "FF-SG listed", "normal", "NB (s,s)", "NB (s,s+1)", "Camp-Paulson"};
  return kNames.at(static_cast<std::size_t>(method));
}

void MethodTally::add(const estimation::Interval& interval, double truth) {
  ++counted;
  // The limits of the .NET table are whole bytes, hence the rounding.
  const bool is_below = interval.hi < truth * (1 - 1e-12);
  const bool is_above = interval.lo > truth * (1 + 1e-12);
  covered += is_below || is_above ? 0 : 1;
  missed_below += is_below ? 1 : 0;
  missed_above += is_above ? 1 : 0;
  const double share = (interval.hi - interval.lo) / truth;
  width += share;
  width_squares += share * share;
}

void MethodTally::merge(const MethodTally& other) {
  counted += other.counted;
  covered += other.covered;
  missed_below += other.missed_below;
  missed_above += other.missed_above;
  width += other.width;
  width_squares += other.width_squares;
}

double MethodTally::coverage() const {
  return counted == 0 ? 0 : static_cast<double>(covered) / static_cast<double>(counted);
}

estimation::Interval MethodTally::coverage_interval(double level) const {
  const double half = estimation::alpha_of(level) / 2;
  const auto hits = static_cast<double>(covered);
  const auto misses = static_cast<double>(counted - covered);
  return {hits == 0 ? 0 : boost::math::ibeta_inv(hits, misses + 1, half),
          misses == 0 ? 1 : boost::math::ibetac_inv(hits + 1, misses, half)};
}

double MethodTally::mean_width() const {
  return counted == 0 ? 0 : width / static_cast<double>(counted);
}

double MethodTally::mean_width_error() const {
  if (counted < 2) return 0;
  const auto n = static_cast<double>(counted);
  return std::sqrt(std::max(0.0, width_squares / n - mean_width() * mean_width()) / (n - 1));
}

estimation::Interval IntervalBook::interval(Method method, const estimation::NodeSums& sums,
                                            double untried, double interval) {
  if (method == Method::kTotal)
    return estimation::estimate_bytes(sums, level_, estimation::Form::kTotal).interval;
  if (method == Method::kListed)
    return estimation::estimate_bytes(sums, level_, estimation::Form::kListed).interval;
  const double exact = sums.certain_bytes;
  if (method == Method::kNormal) {
    const double half = estimation::upper_normal_quantile(estimation::alpha_of(level_) / 2) *
                        std::sqrt(sums.bytes_variance);
    const double value = exact + sums.weighted_bytes;
    return {std::max(0.0, value - half), value + half};
  }
  const estimation::Interval law = of_law(method, sums.samples, interval);
  return {exact + law.lo + untried, exact + law.hi + untried};
}

estimation::Interval IntervalBook::of_law(Method method, std::uint64_t samples, double interval) {
  auto& known = known_[static_cast<std::size_t>(method)];
  if (known.size() <= samples) known.resize(samples + 1);
  auto& limits = known[samples];
  if (limits) return *limits;
  const estimation::Checked<estimation::Interval> computed =
      method == Method::kCampPaulson
          ? camp_paulson_interval(samples, 0, interval, level_)
          : estimation::failed_trials_interval(samples, 0, interval, level_,
                                               method == Method::kFixedWindow
                                                   ? estimation::Window::kFixed
                                                   : estimation::Window::kUpToSample);
  // Two of them have no interval without samples; they get [0, 0].
  limits = computed.has_value() ? computed.value() : estimation::Interval{};
  return *limits;
}

Site draw_site(const Cell& cell, bool has_certain, std::mt19937_64& generator) {
  Site site;
  site.interval = kTableInterval;
  site.is_pure = !has_certain;
  const SizesBySamples& sizes = SizesBySamples::of(cell.mix);
  const std::size_t classes = sizes.is_one_size() ? 1 : kClasses;
  const double lambda = estimation::rate_of_interval(kT);
  const double shift = uniform(generator);
  for (std::size_t i = 0; i < classes; ++i) {
    const auto size = static_cast<Bytes>(std::max(
        1.0,
        std::round(sizes.at((static_cast<double>(i) + shift) / static_cast<double>(classes)))));
    const double objects = cell.samples / static_cast<double>(classes) /
                           estimation::inclusion_probability(size, lambda);
    const std::uint64_t count = rounded_at_random(objects, generator);
    if (count > 0) site.objects.push_back({size, count});
  }
  if (site.objects.empty()) {
    site.objects.push_back({static_cast<Bytes>(std::round(sizes.at(shift))), 1});
  }
  return site;
}

CellTally simulate_block(const TableSettings& settings, const Cell& cell, std::uint64_t block,
                         IntervalBook& book) {
  std::mt19937_64 generator =
      generator_of(settings, static_cast<std::uint64_t>(cell.mix), cell.samples, block);
  CellTally tally{};
  for_replicates(settings, cell.samples, block, [&](double samples) {
    add_replicate(tally, draw_site({cell.mix, samples}, settings.has_certain, generator), generator,
                  book);
  });
  return tally;
}

}  // namespace geiger::research
