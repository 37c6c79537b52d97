// For tests only: simulated heaps of one site, to judge for leaks.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "analysis/profile/lives/leaks.h"
#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/recording/cut.h"
#include "analysis/profile/select/peak.h"
#include "analysis/profile/select/thinned.h"
#include "estimation/sums.h"

namespace geiger::profile::simulated {

inline constexpr Bytes kInterval = 65536;
inline constexpr double kNanoseconds = 1e10;  // A recording of ten seconds.
inline constexpr double kNever = 2;

/// One site beside one that allocates and frees all the time. Times are shares of the
/// recording's; of small objects the samples alone are drawn, as their numbers are Poisson.
class Heap {
 public:
  explicit Heap(std::uint64_t seed) : generator_(seed) {
    recording_.epochs.push_back(
        {kInterval, estimation::rate_of_interval(static_cast<double>(kInterval))});
    // Two functions: stacks that read alike would be one site.
    for (const std::uint32_t site : {0U, 1U}) {
      Location location;
      location.vaddr = 0x1000 + 0x10 * Address{site};
      recording_.locations.push_back(location);
      recording_.stacks.push_back({{site}, false});
    }
    Process process;
    process.start = 1'000'000'000;
    process.end = process.start + static_cast<Nanoseconds>(kNanoseconds);
    process.interval = kInterval;
    process.ending = Ending::kExited;
    recording_.processes.push_back(process);
    for (int i = 0; i <= 200; ++i) add(0, i / 200.01, i / 200.01 + 0.0005);
  }

  double uniform() { return std::uniform_real_distribution<double>()(generator_); }
  double life(double mean) { return std::exponential_distribution<double>(1 / mean)(generator_); }

  void add(std::uint32_t site, double at, double freed) {
    Sample sample;
    sample.stack = site;
    sample.requested = sample.usable = 256;
    sample.time = time_of(at);
    sample.free_time = freed < 1 ? time_of(freed) + 1 : 0;
    recording_.samples.push_back(sample);
  }

  /// About `expected` samples per recording, allocated in [from, to).
  void arrive(double expected, const std::function<double(double)>& freed_at, double from = 0,
              double to = 1) {
    std::poisson_distribution<int> number(expected * (to - from));
    for (int left = number(generator_); left > 0; --left) {
      const double at = from + (to - from) * uniform();
      add(1, at, freed_at(at));
    }
  }

  /// Frees what is live at the end in the last part of the time, and nothing is allocated
  /// meanwhile: the work before takes the rest of it.
  void tidy_up(double part) {
    const Process& process = recording_.processes[0];
    const auto shrunk = [&](Nanoseconds time) {
      const double at = static_cast<double>(time - process.start);
      return process.start + static_cast<Nanoseconds>((1 - part) * at);
    };
    for (Sample& sample : recording_.samples) {
      sample.time = shrunk(sample.time);
      sample.free_time = sample.free_time != 0 ? shrunk(sample.free_time)
                                               : time_of(1 - part * (0.1 + 0.9 * uniform()));
    }
  }

  /// As it is judged where no instant is given.
  LeakSite judged_before_teardown() {
    std::ranges::sort(recording_.samples, {}, &Sample::time);
    const Teardown teardown = find_teardowns(recording_).front();
    if (!teardown.is_found()) return judged();
    cut_at(recording_, teardown.from);
    return judged({.ran_until = {teardown.from}});
  }

  /// Estimated bytes at an instant.
  [[nodiscard]] double live_at(double share) const {
    double bytes = 0;
    for (const Sample& sample : recording_.samples) {
      if (!is_live_at(sample, time_of(share))) continue;
      const estimation::Count count = count_of_fate(recording_, sample);
      bytes += static_cast<double>(count.size) / estimation::inclusion_probability(count);
    }
    return bytes;
  }

  /// Where the program began to tidy up, if it did.
  Teardown teardown() {
    std::ranges::sort(recording_.samples, {}, &Sample::time);
    return find_teardowns(recording_).front();
  }

  /// At the largest estimated heap, located by all samples.
  LeakSite judged_at_peak() {
    std::ranges::sort(recording_.samples, {}, &Sample::time);
    const Nanoseconds peak = locate_peak(recording_, false, {}).time + 1;
    cut_at(recording_, peak);
    return judged({.ran_until = {peak}});
  }

  Leaks leaks(const LeakOptions& options = {}) {
    std::ranges::sort(recording_.samples, {}, &Sample::time);
    return find_leaks(recording_, options);
  }

  LeakSite judged(const LeakOptions& options = {}) {
    for (LeakSite& site : leaks(options).sites) {
      if (site.group.stack == 1) return site;
    }
    return {};
  }

 private:
  [[nodiscard]] Nanoseconds time_of(double share) const {
    return recording_.processes[0].start + static_cast<Nanoseconds>(share * kNanoseconds);
  }

  Recording recording_;
  std::mt19937_64 generator_;
};

using Program = std::function<void(Heap&, double)>;

/// Turned over with lives of this mean, from the start on.
inline Program flat(double mean) {
  return [mean](Heap& heap, double expected) {
    heap.arrive(expected, [&](double at) { return at + heap.life(mean); });
    heap.arrive(
        expected * mean / 1e-4, [&](double) { return heap.life(mean); }, 0, 1e-4);
  };
}

/// Grows and is emptied at once, again and again.
inline Program sawtooth(double period) {
  return [period](Heap& heap, double expected) {
    const double phase = heap.uniform() * period;
    heap.arrive(expected, [&](double at) {
      return (std::floor((at + phase) / period) + 1) * period - phase;
    });
  };
}

/// Fills up: misses get rarer.
inline Program cache(double fill) {
  return [fill](Heap& heap, double expected) {
    std::mt19937_64 numbers(static_cast<std::uint64_t>(heap.uniform() * 1e9));
    for (int left = std::poisson_distribution<int>(expected)(numbers); left > 0; --left) {
      const double at = heap.life(fill);
      if (at < 1) heap.add(1, at, kNever);
    }
  };
}

/// Holds as much as was allocated in `span`, the oldest goes.
inline Program bounded(double span) {
  return [span](Heap& heap, double expected) {
    heap.arrive(expected, [&](double at) { return at + span; });
  };
}

inline Program bursts(int count) {
  return [count](Heap& heap, double expected) {
    for (int i = 0; i < count; ++i) {
      const double at = 0.25 + 0.7 * heap.uniform();
      heap.arrive(
          50 * expected / count, [](double) { return kNever; }, at, at + 0.02);
    }
  };
}

inline Program leak(double share, double mean) {
  return [share, mean](Heap& heap, double expected) {
    heap.arrive(expected,
                [&](double at) { return heap.uniform() < share ? kNever : at + heap.life(mean); });
  };
}

}  // namespace geiger::profile::simulated
