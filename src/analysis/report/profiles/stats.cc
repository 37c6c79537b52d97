#include "analysis/report/profiles/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "analysis/present/measure.h"
#include "analysis/present/names.h"
#include "analysis/profile/groups/groupings.h"
#include "analysis/profile/peak.h"
#include "analysis/profile/thinned.h"

namespace geiger::report {
namespace {

using estimation::NodeSums;
using profile::Recording;
using profile::Sample;

/// The samples that the statistics are of.
struct Basis {
  const Recording& recording;
  profile::Chosen chosen;
  profile::Profile profile;  ///< Without entries: what weighs them.
  profile::Kind kind;        ///< What tallies count.

  Basis(const Recording& from, const profile::Selection& selection)
      : recording(from), chosen(profile::choose(from, selection)), kind(selection.kind) {
    profile.is_of_fates = profile::depends_on_fates(selection);
    profile.rate_factor = chosen.rate_factor;
    profile.largest_interval = chosen.largest_interval;
  }

  /// Calls `visit(sample, count)` for every sample, those alike together where they were
  /// only counted.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    visit_all(chosen.samples, chosen.tallies, visit);
  }
  /// As above, for the samples that the selection cannot decide about.
  template <typename Visit>
  void for_each_open(const Visit& visit) const {
    visit_all(chosen.open, chosen.open_tallies, visit);
  }

 private:
  template <typename Visit>
  void visit_all(const std::vector<const Sample*>& samples,
                 const std::vector<const profile::Tally*>& tallies, const Visit& visit) const {
    for (const Sample* sample : samples) visit(*sample, std::uint64_t{1});
    for (const profile::Tally* tally : tallies) {
      visit(tally->alike, profile::count_of(*tally, kind));
    }
  }
};

/// Adds every sample to the group that `group_of` names; what no group stands for is
/// left out.
void add_samples(const Basis& basis, std::vector<NodeSums>& sums,
                 const std::function<std::size_t(const Sample&)>& group_of) {
  profile::Profile weighing;
  weighing.rate_factor = basis.profile.rate_factor;
  weighing.is_of_fates = basis.profile.is_of_fates;
  const auto add_to = [&](std::vector<NodeSums>& into, const Sample& sample, std::uint64_t count) {
    const std::size_t group = group_of(sample);
    if (group >= into.size()) return;
    const profile::Entry entry{.process = sample.process,
                               .epoch = sample.epoch,
                               .requested = sample.requested,
                               .count = count,
                               .is_certain = profile::is_surely_sampled(basis.recording, sample)};
    accumulate(into[group], entry, basis.recording, weighing);
  };
  basis.for_each([&](const Sample& sample, std::uint64_t count) { add_to(sums, sample, count); });
  std::vector<NodeSums> open(sums.size());
  basis.for_each_open(
      [&](const Sample& sample, std::uint64_t count) { add_to(open, sample, count); });
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i].leave_open(open[i]);
}

/// One set of sums per group, any of which may hold what was not sampled.
std::vector<NodeSums> sums_by(const Basis& basis, std::size_t groups,
                              const std::function<std::size_t(const Sample&)>& group_of) {
  std::vector<NodeSums> sums(groups);
  for (NodeSums& one : sums) one.could_have_sampled(basis.profile.largest_interval);
  add_samples(basis, sums, group_of);
  return sums;
}

using profile::least_of;

std::vector<SizeClass> sizes_of(const Basis& basis, double level) {
  std::vector<NodeSums> sums(profile::kSizeClasses);
  const double complete = profile::complete_from(basis.recording, basis.profile);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (static_cast<double>(least_of(i)) >= complete) continue;
    sums[i].could_have_sampled(basis.profile.largest_interval);
  }
  add_samples(basis, sums,
              [](const Sample& sample) { return profile::size_class_of(sample.requested); });
  sums[profile::size_class_of(0)].miss_no_bytes();
  const auto first = std::find_if(sums.begin(), sums.end(), present::is_seen);
  const auto last = std::find_if(sums.rbegin(), sums.rend(), present::is_seen).base();
  std::vector<SizeClass> classes;
  for (auto at = first; at < last; ++at) {
    const Bytes least = least_of(static_cast<std::size_t>(at - sums.begin()));
    classes.push_back({least, least == 0 ? 0 : least * 2 - 1, present::measure_row(*at, level)});
  }
  return classes;
}

std::vector<Group> entry_points_of(const Basis& basis, double level) {
  constexpr std::size_t kAll = 256;
  const auto sums = sums_by(basis, kAll, [](const Sample& sample) {
    return static_cast<std::size_t>(sample.entry_point);
  });
  std::vector<Group> groups;
  for (std::size_t i = 0; i < kAll; ++i) {
    if (!present::is_seen(sums[i])) continue;
    groups.push_back({present::entry_point_name(static_cast<vocabulary::EntryPoint>(i)),
                      present::measure_row(sums[i], level)});
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

/// None of samples that were only counted.
std::vector<Group> lifetimes_of(const Recording& recording, profile::Selection selection,
                                double level) {
  selection.splits_by_lifetime = true;
  const Basis basis(recording, selection);
  if (!recording.tallies.empty()) return {};
  const auto sums = sums_by(basis, kLifetimes.size() + 1, lifetime_of);
  std::vector<Group> groups;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const char* name = i < kLifetimes.size() ? kLifetimes[i].name : "still live at the end";
    groups.push_back({name, present::measure_row(sums[i], level)});
  }
  return groups;
}

std::vector<DepthClass> depths_of(const Basis& basis) {
  const auto& stacks = basis.recording.stacks;
  std::vector<DepthClass> classes;
  basis.for_each([&](const Sample& sample, std::uint64_t count) {
    if (sample.stack >= stacks.size()) return;
    const std::uint64_t depth = stacks[sample.stack].locations.size();
    const auto width = static_cast<std::size_t>(std::bit_width(depth));
    while (classes.size() <= width) {
      const std::uint64_t least = least_of(classes.size());
      classes.push_back({least, least == 0 ? 0 : least * 2 - 1, 0});
    }
    classes[width].samples += count;
  });
  const auto first = std::find_if(classes.begin(), classes.end(),
                                  [](const DepthClass& one) { return one.samples > 0; });
  classes.erase(classes.begin(), first);
  return classes;
}

/// By what is counted of them; of a part, where nothing is, by what is estimated.
std::vector<ThreadLine> threads_of(const Basis& basis, const StatsReport& report,
                                   std::uint64_t& count) {
  const auto& threads = basis.recording.threads;
  const auto sums = sums_by(basis, threads.size(), [](const Sample& sample) {
    return static_cast<std::size_t>(sample.thread);
  });
  const bool is_of_part = is_part(report);
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < threads.size(); ++i) {
    if (!is_of_part || present::is_seen(sums[i])) order.push_back(i);
  }
  count = order.size();
  std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t i) {
    return is_of_part ? sums[i].all_bytes() : static_cast<double>(threads[i].bytes);
  });
  const std::size_t most = report.options.threads;
  if (most > 0 && order.size() > most) order.resize(most);
  std::vector<ThreadLine> lines;
  lines.reserve(order.size());
  for (const std::uint32_t index : order) {
    lines.push_back(
        {index, threads[index].bytes, present::measure_row(sums[index], report.options.level)});
  }
  return lines;
}

std::uint64_t truncated_of(const Basis& basis) {
  const auto& stacks = basis.recording.stacks;
  std::uint64_t truncated = 0;
  basis.for_each([&](const Sample& sample, std::uint64_t count) {
    if (sample.stack < stacks.size() && stacks[sample.stack].is_truncated) truncated += count;
  });
  return truncated;
}

}  // namespace

bool is_part(const StatsReport& report) {
  const profile::Selection& selection = report.options.selection;
  return selection.kind != profile::Kind::kAllocated || selection.is_part();
}

StatsReport stats_report(const Recording& recording, const StatsOptions& options) {
  const Basis basis(recording, options.selection);
  StatsReport report;
  report.options = options;
  report.is_split = basis.chosen.rate_factor < 1;
  report.total = present::measure_total(
      sums_by(basis, 1, [](const Sample&) { return std::size_t{0}; }).front(), options.level);
  if (basis.chosen.peak) {
    report.total.bytes =
        estimate_peak(recording, *basis.chosen.peak, report.total.bytes, options.level);
  }
  report.sizes = sizes_of(basis, options.level);
  report.entry_points = entry_points_of(basis, options.level);
  report.lifetimes = lifetimes_of(recording, options.selection, options.level);
  report.depths = depths_of(basis);
  report.truncated_samples = truncated_of(basis);
  report.threads = threads_of(basis, report, report.thread_count);
  if (is_part(report)) return report;
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
