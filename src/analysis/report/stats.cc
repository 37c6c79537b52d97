#include "analysis/report/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include "analysis/profile/peak.h"
#include "analysis/profile/profile.h"
#include "analysis/report/names.h"

namespace geiger::report {
namespace {

using estimation::NodeSums;
using profile::Recording;
using profile::Sample;

/// Adds everything allocated to the group that `group_of` names; what no group
/// stands for is left out.
void add_samples(const Recording& recording, std::vector<NodeSums>& sums,
                 const std::function<std::size_t(const Sample&)>& group_of) {
  const profile::Profile everything;
  for (const Sample& sample : recording.samples) {
    const std::size_t group = group_of(sample);
    if (group >= sums.size()) continue;
    const profile::Entry entry{sample.stack,
                               sample.process,
                               sample.thread,
                               sample.epoch,
                               sample.requested,
                               sample.usable,
                               1,
                               profile::is_surely_sampled(recording, sample)};
    accumulate(sums[group], entry, recording, everything);
  }
}

/// One set of sums per group, any of which may hold what was not sampled.
std::vector<NodeSums> sums_by(const Recording& recording, std::size_t groups,
                              const std::function<std::size_t(const Sample&)>& group_of) {
  std::vector<NodeSums> sums(groups);
  for (NodeSums& one : sums) one.could_have_sampled(profile::largest_interval(recording));
  add_samples(recording, sums, group_of);
  return sums;
}

bool is_seen(const NodeSums& sums) { return sums.samples + sums.certain_samples > 0; }

constexpr std::size_t kSizeClasses = 65;

Bytes least_of(std::size_t size_class) {
  return size_class == 0 ? 0 : Bytes{1} << (size_class - 1);
}

/// Sizes from which every allocation is recorded: a class of them misses nothing.
double always_recorded(const Recording& recording) {
  const bool any_pure = std::any_of(recording.processes.begin(), recording.processes.end(),
                                    [](const profile::Process& p) { return p.is_pure; });
  double least = any_pure ? HUGE_VAL : 0;
  for (const profile::Epoch& epoch : recording.epochs) {
    least = std::max(least, static_cast<double>(epoch.interval));
  }
  return least;
}

std::vector<SizeClass> sizes_of(const Recording& recording, double level) {
  std::vector<NodeSums> sums(kSizeClasses);
  const double exact_from = always_recorded(recording);
  for (std::size_t i = 0; i < kSizeClasses; ++i) {
    if (static_cast<double>(least_of(i)) >= exact_from) continue;
    sums[i].could_have_sampled(profile::largest_interval(recording));
  }
  add_samples(recording, sums, [](const Sample& sample) {
    return static_cast<std::size_t>(std::bit_width(sample.requested));
  });
  const auto first = std::find_if(sums.begin(), sums.end(), is_seen);
  const auto last = std::find_if(sums.rbegin(), sums.rend(), is_seen).base();
  std::vector<SizeClass> classes;
  for (auto at = first; at < last; ++at) {
    const Bytes least = least_of(static_cast<std::size_t>(at - sums.begin()));
    classes.push_back({least, least == 0 ? 0 : least * 2 - 1, measure_row(*at, level)});
  }
  return classes;
}

std::vector<Group> entry_points_of(const Recording& recording, double level) {
  constexpr std::size_t kAll = 256;
  const auto sums = sums_by(recording, kAll, [](const Sample& sample) {
    return static_cast<std::size_t>(sample.entry_point);
  });
  std::vector<Group> groups;
  for (std::size_t i = 0; i < kAll; ++i) {
    if (!is_seen(sums[i])) continue;
    groups.push_back({entry_point_name(static_cast<std::uint8_t>(i)), measure_row(sums[i], level)});
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return a.measure.bytes.value > b.measure.bytes.value;
  });
  return groups;
}

struct Lifetime {
  Nanoseconds below;
  const char* name;
};

constexpr std::array<Lifetime, 6> kLifetimes{{{1'000'000, "freed within 1 ms"},
                                              {10'000'000, "after 1 to 10 ms"},
                                              {100'000'000, "after 10 to 100 ms"},
                                              {1'000'000'000, "after 0.1 to 1 s"},
                                              {10'000'000'000, "after 1 to 10 s"},
                                              {~Nanoseconds{0}, "after more than 10 s"}}};

std::size_t lifetime_of(const Sample& sample) {
  if (sample.free_time == 0) return kLifetimes.size();
  const Nanoseconds lived = sample.free_time - std::min(sample.free_time, sample.time);
  std::size_t i = 0;
  while (i + 1 < kLifetimes.size() && lived >= kLifetimes[i].below) ++i;
  return i;
}

std::vector<Group> lifetimes_of(const Recording& recording, double level) {
  const auto sums = sums_by(recording, kLifetimes.size() + 1, lifetime_of);
  std::vector<Group> groups;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const char* name = i < kLifetimes.size() ? kLifetimes[i].name : "still live at the end";
    groups.push_back({name, measure_row(sums[i], level)});
  }
  return groups;
}

std::vector<DepthClass> depths_of(const Recording& recording) {
  std::vector<DepthClass> classes;
  for (const Sample& sample : recording.samples) {
    if (sample.stack >= recording.stacks.size()) continue;
    const std::uint64_t depth = recording.stacks[sample.stack].locations.size();
    const auto width = static_cast<std::size_t>(std::bit_width(depth));
    while (classes.size() <= width) {
      const std::uint64_t least = least_of(classes.size());
      classes.push_back({least, least == 0 ? 0 : least * 2 - 1, 0});
    }
    ++classes[width].samples;
  }
  const auto first = std::find_if(classes.begin(), classes.end(),
                                  [](const DepthClass& one) { return one.samples > 0; });
  classes.erase(classes.begin(), first);
  return classes;
}

std::vector<ThreadLine> threads_of(const Recording& recording, const StatsOptions& options) {
  const auto& threads = recording.threads;
  const auto sums = sums_by(recording, threads.size(), [](const Sample& sample) {
    return static_cast<std::size_t>(sample.thread);
  });
  std::vector<std::uint32_t> order(threads.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return threads[a].bytes > threads[b].bytes;
  });
  if (options.threads > 0 && order.size() > options.threads) order.resize(options.threads);
  std::vector<ThreadLine> lines;
  lines.reserve(order.size());
  for (const std::uint32_t index : order) {
    lines.push_back({index, threads[index].bytes, measure_row(sums[index], options.level)});
  }
  return lines;
}

}  // namespace

StatsReport stats_report(const Recording& recording, const StatsOptions& options) {
  StatsReport report;
  report.options = options;
  report.total = measure_total(
      sums_by(recording, 1, [](const Sample&) { return std::size_t{0}; }).front(), options.level);
  report.sizes = sizes_of(recording, options.level);
  report.entry_points = entry_points_of(recording, options.level);
  report.lifetimes = lifetimes_of(recording, options.level);
  report.depths = depths_of(recording);
  report.truncated_samples = static_cast<std::uint64_t>(
      std::count_if(recording.samples.begin(), recording.samples.end(), [&](const Sample& sample) {
        return sample.stack < recording.stacks.size() &&
               recording.stacks[sample.stack].is_truncated;
      }));
  report.threads = threads_of(recording, options);
  report.thread_count = recording.threads.size();
  for (std::uint32_t i = 0; i < recording.processes.size(); ++i) {
    report.processes.push_back(profile::process_totals(recording, i));
  }
  return report;
}

std::string thread_name(const profile::Thread& thread) {
  if (thread.name.empty()) return fmt::format("tid {}", thread.tid);
  return fmt::format("{} (tid {})", thread.name, thread.tid);
}

}  // namespace geiger::report
