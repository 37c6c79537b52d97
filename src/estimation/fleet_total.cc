// Derivation and evidence: docs/internals/estimators.md, "Hosts that were not recorded".
#include "estimation/fleet_total.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "estimation/distributions/gamma.h"
#include "estimation/distributions/normal.h"
#include "estimation/distributions/quiet.h"
#include "estimation/exposures.h"
#include "estimation/root_of_squares.h"

namespace geiger::estimation {
namespace {

/// The recorded hosts' figures, scaled to all.
struct Scaled {
  double value = 0;      ///< R times all exposure, certain bytes included.
  double deviation = 0;  ///< From hosts and from sampling.
  double event = 0;      ///< E, for all.
  double known = 0;      ///< X: the certain bytes of the recorded hosts themselves.
  double seen = 0;       ///< B of the recorded hosts.
  double degrees = 0;
};

Scaled scaled(std::span<const NodeSums> hosts, std::span<const double> exposures, double exposure,
              double recorded) {
  NodeSums all;
  for (const NodeSums& host : hosts) all.merge(host);
  const Runs runs = runs_of(hosts, exposures);
  const double of_sampling = runs.sampling / std::max(runs.count, 1.0);
  // Includes the sampling variance, which unrecorded hosts do not increase.
  const double of_hosts =
      runs.degrees > 0 ? (1 - recorded) * runs.squares / runs.degrees / runs.count : 0;
  const double variance = std::max(of_hosts + recorded * of_sampling, of_sampling);
  Scaled out;
  out.value = clean(runs.mean * exposure);
  out.deviation = clean(std::sqrt(variance) * exposure);
  out.event = clean(clean(all.largest_interval) / recorded);
  out.known = std::min(clean(all.certain_bytes), out.value);
  out.seen = std::min(clean(all.bytes_seen), out.value - out.known);
  // Satterthwaite: only the hosts' part is itself an estimate.
  const double part = variance > 0 ? of_hosts / variance : 0;
  out.degrees = part > 0 ? runs.degrees / std::min(part * part, 1.0)
                         : std::numeric_limits<double>::infinity();
  return out;
}

/// The tail probability of the normal law at the same quantile as this tail of Student's.
double widened(double tail, double degrees) {
  constexpr double kLikeNormal = 1e9;
  if (!(degrees < kLikeNormal)) return tail;
  const boost::math::students_t_distribution<double, Quiet> law(degrees);
  return std::max(normal_below(-boost::math::quantile(complement(law, tail))), 1e-300);
}

/// FF-SG (estimate.h) around the known bytes of the recorded hosts.
Interval interval_of(const Scaled& part, double level) {
  const double tail = widened(alpha_of(level) / 2, part.degrees);
  const double unknown = part.value - part.known;
  const Gamma lower{unknown, part.deviation};
  const Gamma upper{std::max(unknown - part.seen, 0.0) + part.event,
                    root_of_squares(part.deviation, part.event)};
  const Interval interval{part.known + std::max(part.seen, lower.lower_quantile(tail)),
                          part.known + part.seen + upper.upper_quantile(tail)};
  return {std::min(interval.lo, part.value), std::max(interval.hi, part.value)};
}

}  // namespace

std::optional<FleetTotal> fleet_total(std::span<const NodeSums> hosts,
                                      std::span<const double> exposures, double exposure,
                                      double level) {
  if (hosts.empty()) return std::nullopt;
  const double own = total_exposure(exposures, hosts.size());
  const double all = exposure > own && std::isfinite(exposure) ? exposure : own;
  FleetTotal total;
  total.recorded = own / all;
  if (hosts.size() < 2 && total.recorded < 1) return std::nullopt;
  const Scaled part = scaled(hosts, exposures, all, total.recorded);
  total.bytes = {.value = part.value,
                 .variance = part.deviation * part.deviation,
                 .interval = interval_of(part, level),
                 .samples = 0,
                 .exact = part.known};
  std::vector<NodeSums> most(hosts.begin(), hosts.end());
  bool has_open = false;
  for (NodeSums& host : most) {
    total.bytes.samples += host.samples;
    has_open = has_open || host.has_open();
    host = host.at_most();
  }
  if (has_open) {
    const Interval open = interval_of(scaled(most, exposures, all, total.recorded), level);
    total.bytes.interval.hi = std::max(total.bytes.interval.hi, open.hi);
  }
  total.degrees = part.degrees;
  total.is_of_few = hosts.size() < kFewHosts && total.recorded < 1;
  return total;
}

}  // namespace geiger::estimation
