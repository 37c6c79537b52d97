#include "research/fleet/fleet_of_recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <utility>

#include "analysis/profile/select/profile.h"
#include "fleet/document/document.h"

namespace geiger::research {
namespace {

constexpr std::int64_t kHour = 3600;
/// A midnight.
constexpr std::int64_t kFirstSecond = 1'767'225'600;
constexpr std::uint64_t kMillis = 1000;
constexpr std::size_t kMostSizes = 8;

/// Lognormal with mean 1.
double factor(std::mt19937_64& random, double spread) {
  const double sigma = std::sqrt(std::log1p(spread * spread));
  return std::exp(std::normal_distribution<double>(-sigma * sigma / 2, sigma)(random));
}

double chance_of(Bytes size, Bytes interval) {
  if (size >= interval) return 1;
  const double lambda = -std::log1p(-1 / static_cast<double>(interval));
  return -std::expm1(-lambda * static_cast<double>(size));
}

/// How many of `objects` become samples. By the gaps between them, which is exact: the means of
/// libstdc++'s std::binomial_distribution are some .14 % too large where about ten are drawn (2
/// million draws each), more than the interval of a large fleet's total is wide.
std::uint64_t samples_of(std::mt19937_64& random, std::uint64_t objects, double chance) {
  std::exponential_distribution<double> gap(-std::log1p(-chance));
  std::uint64_t drawn = 0;
  for (double left = static_cast<double>(objects);; ++drawn) {
    const double skipped = std::floor(gap(random));
    if (skipped >= left) return drawn;
    left -= skipped + 1;
  }
}

/// A whole number with this mean.
std::uint64_t whole(std::mt19937_64& random, double mean) {
  return static_cast<std::uint64_t>(mean + std::uniform_real_distribution<double>()(random));
}

/// Of the middle of the day most is allocated.
double of_hour(std::uint32_t hour) {
  constexpr double kSwing = .3, kHours = 24;
  return 1 - kSwing * std::cos(2 * std::numbers::pi * hour / kHours);
}

}  // namespace

FleetOfRecordings::FleetOfRecordings(const std::vector<profile::Recording>& recordings,
                                     const Design& design)
    : design_(design) {
  std::map<std::pair<std::size_t, std::uint32_t>, std::map<Bytes, double>> points;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    const profile::Recording& recording = recordings[i];
    for (const profile::Entry& entry : profile::select(recording, {}).entries) {
      const Bytes interval = std::max(recording.epochs[entry.epoch].interval, Bytes{1});
      const bool has_stack =
          entry.stack != profile::kNone && !recording.stacks[entry.stack].locations.empty();
      const std::uint32_t point =
          has_stack ? recording.stacks[entry.stack].locations.front() : profile::kNone;
      const double chance = entry.is_certain ? 1 : chance_of(entry.requested, interval);
      points[{i, point}][entry.requested] += static_cast<double>(entry.count) / chance;
    }
  }
  Site rest;
  for (const auto& [point, sizes] : points) {
    Site site;
    for (const auto& [size, objects] : sizes) {
      if (size > 0) site.cells.push_back({size, objects});
    }
    std::ranges::sort(site.cells, std::greater<>(), [](const Cell& cell) {
      return static_cast<double>(cell.size) * cell.objects;
    });
    site.cells.resize(std::min(site.cells.size(), kMostSizes));
    for (const Cell& cell : site.cells) site.bytes += static_cast<double>(cell.size) * cell.objects;
    if (site.bytes > 0) sites_.push_back(std::move(site));
  }
  std::ranges::sort(sites_, std::greater<>(), &Site::bytes);
  while (sites_.size() > design_.sites) {
    const Cell& cell = sites_.back().cells.front();
    const auto same = std::ranges::find(rest.cells, cell.size, &Cell::size);
    if (same == rest.cells.end()) {
      rest.cells.push_back(cell);
    } else {
      same->objects += cell.objects;
    }
    rest.bytes += static_cast<double>(cell.size) * cell.objects;
    sites_.pop_back();
  }
  if (rest.cells.size() > kMostSizes) rest.cells.resize(kMostSizes);
  if (!rest.cells.empty()) sites_.push_back(std::move(rest));
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    Site& site = sites_[i];
    site.name = fmt::format("site_{:03}", i);
    site.location.module = "/usr/bin/simulated";
    site.location.build_id = "5e";
    site.location.address = (i + 1) << 12;
    site.location.frames.push_back({site.name, "", "", 0});
    site.location.id = fleet::id_of(site.location);
    site.stack.locations.push_back(site.location.id);
    site.stack.id = fleet::id_of(site.stack);
  }
  choose_interval();
  choose_changed();
}

/// The largest that gives a host as many samples as the design wants.
void FleetOfRecordings::choose_interval() {
  const auto samples = [this](Bytes interval) {
    double sum = 0;
    for (const Site& site : sites_) {
      for (const Cell& cell : site.cells) sum += cell.objects * chance_of(cell.size, interval);
    }
    return sum;
  };
  while (interval_ < Bytes{1} << 40 && samples(interval_ * 2) >= design_.samples) interval_ *= 2;
}

void FleetOfRecordings::choose_changed() {
  double bytes = 0;
  for (const Site& site : sites_) bytes += site.bytes;
  const double wanted = design_.changed_share * bytes;
  const auto nearest = std::ranges::min_element(
      sites_, {}, [wanted](const Site& site) { return std::abs(std::log(site.bytes / wanted)); });
  changed_ = static_cast<std::size_t>(nearest - sites_.begin());
}

double FleetOfRecordings::changed_share() const {
  double bytes = 0;
  for (const Site& site : sites_) bytes += site.bytes;
  return sites_[changed_].bytes / bytes;
}

fleet::Window FleetOfRecordings::window_of(std::uint32_t host, std::uint32_t hour) const {
  fleet::Window window;
  window.key = {"simulated", version_of(host), fmt::format("host-{:05}", host), 0,
                kFirstSecond + hour * kHour};
  window.key.process = fleet::hash_of(fmt::format("{}-{}", design_.seed, host));
  window.seed = window.key.process;
  window.began_ms = window.key.started * kMillis;
  window.alive_ms = kHour * kMillis;
  window.interval = interval_;
  window.sequence = hour;
  window.executable = "/usr/bin/simulated";
  window.labels["group"] = std::to_string(group_of(host));
  return window;
}

std::vector<fleet::Document> FleetOfRecordings::host(std::uint32_t number,
                                                     std::map<std::string, Truth>& truth) const {
  std::mt19937_64 random(fleet::hash_of(fmt::format("fleet-{}-{}", design_.seed, number)));
  const double load = factor(random, design_.host_spread);
  std::vector<double> factors;
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    const bool is_changed = i == changed_ && version_of(number) == kVersions[2];
    factors.push_back(load * factor(random, design_.site_spread) *
                      (is_changed ? design_.change : 1));
  }
  const fleet::Schedule schedule{kHour, kHour, design_.share, std::to_string(design_.seed)};
  std::vector<fleet::Document> documents;
  for (std::uint32_t hour = 0; hour < design_.hours; ++hour) {
    fleet::Document& document = documents.emplace_back();
    fleet::Window& window = document.window = window_of(number, hour);
    const bool is_recorded =
        fleet::turn_in_period(schedule, window.key.host, window.key.started).has_value();
    if (is_recorded) window.recorded_ms = window.alive_ms;
    std::uint64_t exact = 0;
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      const Site& site = sites_[i];
      double bytes = 0;
      for (const Cell& cell : site.cells) {
        const std::uint64_t objects = whole(random, cell.objects * factors[i] * of_hour(hour));
        bytes += static_cast<double>(objects) * static_cast<double>(cell.size);
        if (!is_recorded) continue;
        exact += objects * cell.size;
        const double chance = chance_of(cell.size, interval_);
        const std::uint64_t drawn = chance < 1 ? samples_of(random, objects, chance) : objects;
        if (drawn == 0) continue;
        document.counts.push_back(
            {site.stack.id, cell.size, interval_, 0, cell.size >= interval_, drawn, 0});
      }
      for (const std::string& name : {std::string(), site.name}) {
        truth[name].all += bytes;
        if (is_recorded) truth[name].recorded += bytes;
      }
      document.stacks.push_back(site.stack);
      document.locations.push_back(site.location);
    }
    if (is_recorded) window.exact_bytes = exact;
    if (!is_recorded) document.stacks.clear(), document.locations.clear();
    std::ranges::sort(document.counts);
  }
  return documents;
}

}  // namespace geiger::research
