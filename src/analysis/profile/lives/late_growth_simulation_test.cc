// How often sites of processes that were recorded late are accused: caches that were full before
// must not be, leaks beside them must be found. Object by object, with walks that see all. Fixed
// seeds; limits leave four standard errors around the rates in docs/internals/estimators.md (a
// false alarm of a fresh seed once in 16,000 comparisons).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "analysis/profile/lives/leaks.h"
#include "estimation/sums.h"

namespace geiger::profile::late_growth_simulation_test {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr Nanoseconds kStart = 1'000'000'000;
constexpr std::uint32_t kCache = 0, kSessions = 1, kLeak = 2;
constexpr double kReplaced = 0.01;  // Of a cache, in a second.

/// Seconds since the recording began.
struct Object {
  double born = 0, freed = kNever;
};
using Site = std::vector<Object>;

class Random {
 public:
  explicit Random(std::uint64_t seed) : generator_(seed) {}
  double uniform() { return std::uniform_real_distribution<double>()(generator_); }
  double exponential(double mean) {
    return std::exponential_distribution<double>(1 / mean)(generator_);
  }
  std::size_t below(std::size_t count) { return generator_() % count; }
  std::vector<double> times(double from, double to, double rate) {
    std::vector<double> times;
    for (double t = from + exponential(1 / rate); t < to; t += exponential(1 / rate)) {
      times.push_back(t);
    }
    return times;
  }

 private:
  std::mt19937_64 generator_;
};

/// A cache of `entries` that is full at the start.
using Law = std::function<Site(Random&, std::size_t entries, double seconds)>;

Site fifo(Random& random, std::size_t entries, double seconds) {
  Site site(entries, Object{-1});
  const double rate = kReplaced * static_cast<double>(entries);
  for (const double t : random.times(0, seconds, rate)) {
    site[site.size() - entries].freed = t;
    site.push_back({t});
  }
  return site;
}

Site at_random(Random& random, std::size_t entries, double seconds) {
  Site site(entries, Object{-1});
  std::vector<std::size_t> live(entries);
  for (std::size_t i = 0; i < entries; ++i) live[i] = i;
  for (const double t : random.times(0, seconds, kReplaced * static_cast<double>(entries))) {
    std::size_t& replaced = live[random.below(entries)];
    site[replaced].freed = t;
    replaced = site.size();
    site.push_back({t});
  }
  return site;
}

Site by_age(Random& random, std::size_t entries, double seconds) {
  Site site;
  const double life = 1 / kReplaced;
  for (const double t :
       random.times(-1.1 * life, seconds, kReplaced * static_cast<double>(entries))) {
    site.push_back({t, t + life * (0.9 + 0.2 * random.uniform())});
  }
  std::erase_if(site, [](const Object& object) { return object.freed < 0; });
  return site;
}

/// As many hits as misses, four of five on the fifth of the entries that is hot.
Site least_recent(Random& random, std::size_t entries, double seconds) {
  Site site;
  std::deque<std::pair<std::size_t, int>> queue;  // Entry, and how often it was hit until then.
  std::vector<int> hits;
  std::vector<std::size_t> hot;
  std::size_t live = 0;
  for (const double t :
       random.times(-6 / kReplaced, seconds, kReplaced * static_cast<double>(entries))) {
    queue.emplace_back(site.size(), 0);
    if (random.uniform() < 0.2) hot.push_back(site.size());
    site.push_back({t});
    hits.push_back(0);
    for (++live; live > entries;) {
      const auto [entry, hit] = queue.front();
      queue.pop_front();
      if (site[entry].freed != kNever || hits[entry] != hit) continue;
      site[entry].freed = t;
      --live;
    }
    for (int tries = 0; tries < 4 && !hot.empty(); ++tries) {
      std::size_t& entry = hot[random.below(hot.size())];
      if (site[entry].freed == kNever) {
        queue.emplace_back(entry, ++hits[entry]);
        break;
      }
      entry = hot.back();
      hot.pop_back();
    }
  }
  std::erase_if(site, [](const Object& object) { return object.freed < 0; });
  return site;
}

Site leak(Random& random, double per_second, double seconds) {
  Site site;
  for (const double t : random.times(0, seconds, per_second)) site.push_back({t});
  return site;
}

/// A process that was attached to, of some sites.
class Attached {
 public:
  Attached(double seconds, Bytes interval) : seconds_(seconds) {
    recording_.epochs.push_back({interval, estimation::rate_of_interval(double(interval))});
    Process process;
    process.start = kStart;
    process.end = time_of(seconds);
    process.interval = interval;
    process.is_attached = true;
    recording_.processes.push_back(process);
    observed_.walks.resize(kMostWalks);
    for (std::size_t i = 0; i < kMostWalks; ++i) observed_.walks[i].time = time_of(walked_at(i));
  }

  void add(Random& random, std::uint32_t site, Bytes size, const Site& objects) {
    Location location;
    location.vaddr = 0x1000 + 0x10 * Address{site};
    recording_.stacks.push_back({{static_cast<std::uint32_t>(recording_.locations.size())}, false});
    recording_.locations.push_back(location);
    const double pi = 1 - std::exp(-recording_.epochs[0].lambda * double(size));
    for (const Object& object : objects) {
      if (object.born >= 0 && random.uniform() < pi) {
        Sample sample;
        sample.stack = site;
        sample.requested = size;
        sample.usable = size + 8;
        sample.time = time_of(object.born);
        sample.free_time = object.freed < seconds_ ? time_of(object.freed) : 0;
        recording_.samples.push_back(sample);
      }
    }
    count(size + 16, objects);
  }

  void forget_walks() { observed_.walks.clear(); }

  Leaks judged() {
    SeriesPoint first;
    first.time = kStart;
    first.counts.resident = in_use_;
    observed_.series = {first};
    for (ChunkCensus& walk : observed_.walks)
      std::ranges::sort(walk.in_use, {}, &ChunkCount::bytes);
    recording_.observations = {observed_};
    std::ranges::sort(recording_.samples, {}, &Sample::time);
    return find_leaks(recording_, {});
  }

 private:
  static Nanoseconds time_of(double seconds) {
    return kStart + static_cast<Nanoseconds>(seconds * 1e9);
  }
  [[nodiscard]] double walked_at(std::size_t walk) const {
    return seconds_ * static_cast<double>(walk) / (kMostWalks - 1);
  }

  void count(Bytes chunk, const Site& objects) {
    std::array<std::int64_t, kMostWalks + 1> change{};
    const auto from = [&](double time) {
      const double walk = std::ceil(time / seconds_ * (kMostWalks - 1));
      return static_cast<std::size_t>(std::clamp(walk, 0.0, double(kMostWalks)));
    };
    for (const Object& object : objects) {
      ++change[from(object.born)];
      --change[from(object.freed)];
      in_use_ += object.born < 0 ? chunk : 0;
    }
    std::int64_t live = 0;
    for (std::size_t i = 0; i < observed_.walks.size(); ++i) {
      live += change[i];
      auto& in_use = observed_.walks[i].in_use;
      const auto same = std::ranges::find(in_use, chunk, &ChunkCount::bytes);
      if (same != in_use.end()) {
        same->count += static_cast<std::uint64_t>(live);
      } else {
        in_use.push_back({chunk, static_cast<std::uint64_t>(live)});
      }
    }
  }

  double seconds_;
  Recording recording_;
  Observations observed_;
  Bytes in_use_ = 0;
};

/// Shares of the recordings.
struct Rates {
  double suspect = 0;  ///< The site is.
  double seen = 0;     ///< It would be, if what is seen were all.
  double chunks = 0;   ///< Its chunks grow.
};

Rates rates_of(int repeats, std::uint32_t site,
               const std::function<void(Random&, Attached&)>& program, double seconds,
               Bytes interval) {
  Rates rates;
  for (int i = 0; i < repeats; ++i) {
    Random random(static_cast<std::uint64_t>(i) + 1);
    Attached attached(seconds, interval);
    program(random, attached);
    const Leaks leaks = attached.judged();
    for (const LeakSite& judged : leaks.sites) {
      if (judged.group.stack != site) continue;
      rates.suspect += judged.is_tested && judged.p_value <= 0.05;
      rates.seen += judged.is_tested && judged.seen_p_value <= 0.05;
    }
    rates.chunks += !leaks.growing.empty();
  }
  rates.suspect /= repeats;
  rates.seen /= repeats;
  rates.chunks /= repeats;
  return rates;
}

double error_of(double rate, int repeats) { return std::sqrt(rate * (1 - rate) / repeats); }

/// A full cache beside sessions of its size. Smaller than in the table of
/// docs/internals/estimators.md, with a smaller interval.
auto cache_of(const Law& law, double seconds) {
  return [&law, seconds](Random& random, Attached& attached) {
    attached.add(random, kCache, 2048, law(random, 4000, seconds));
    attached.add(random, kSessions, 2048, at_random(random, 200, seconds));
  };
}

TEST(LateGrowthSimulation, FullCachesAreNoSuspects) {
  constexpr int kRepeats = 200;
  const std::pair<const char*, Law> laws[] = {{"first in, first out", fifo},
                                              {"random", at_random},
                                              {"by age", by_age},
                                              {"least recent", least_recent}};
  double seen = 0, sum = 0;
  for (const auto& [name, law] : laws) {
    for (const double seconds : {30.0, 150.0}) {
      const Rates rates = rates_of(kRepeats, kCache, cache_of(law, seconds), seconds, 2048);
      std::printf("%s, %g s: suspect %.3f, seen %.3f, chunks grow %.3f\n", name, seconds,
                  rates.suspect, rates.seen, rates.chunks);
      EXPECT_LE(rates.suspect, 0.02 + 4 * error_of(0.02, kRepeats)) << name << " " << seconds;
      EXPECT_LE(rates.chunks, 0.05 + 4 * error_of(0.05, kRepeats)) << name << " " << seconds;
      seen = std::max(seen, rates.seen);
      sum += rates.suspect;
    }
  }
  EXPECT_GE(seen, 0.99);  // What is avoided.
  EXPECT_LE(sum / 8, 0.005 + 4 * error_of(0.005, 8 * kRepeats));
}

TEST(LateGrowthSimulation, WithoutWalksTheMemoryAtTheStartBoundsThem) {
  const Rates rates = rates_of(
      50, kCache,
      [](Random& random, Attached& attached) {
        cache_of(fifo, 150)(random, attached);
        attached.forget_walks();
      },
      150, 2048);
  EXPECT_EQ(rates.suspect, 0);
}

/// 10 KiB a second beside a cache that is turned over at 800 KiB a second.
TEST(LateGrowthSimulation, SlowLeaksBesideChurnAreFound) {
  constexpr int kRepeats = 25;
  const auto program = [](Random& random, Attached& attached) {
    attached.add(random, kCache, 2048, fifo(random, 40000, 30));
    attached.add(random, kSessions, 2048, at_random(random, 400, 30));
    attached.add(random, kLeak, 496, leak(random, 10 * 1024.0 / 496, 30));
  };
  const Rates fine = rates_of(kRepeats, kLeak, program, 30, 16 * kKiB);
  const Rates coarse = rates_of(kRepeats, kLeak, program, 30, 512 * kKiB);
  std::printf("leak: suspect %.3f, %.3f; chunks %.3f\n", fine.suspect, coarse.suspect,
              coarse.chunks);
  EXPECT_GE(fine.suspect, 0.9);
  EXPECT_EQ(coarse.chunks, 1);  // It has no samples, so only its chunks are named.
}

}  // namespace
}  // namespace geiger::profile::late_growth_simulation_test
