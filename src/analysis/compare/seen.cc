#include "analysis/compare/seen.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>

#include "analysis/profile/groups/view.h"
#include "estimation/difference.h"

namespace geiger::compare {
namespace {

void settle(Seen& seen, double certain_from, const estimation::NodeSums& total) {
  seen.sums.could_have_sampled(total);
  for (const auto& [size, count] : seen.certain_sizes) {
    const auto bytes = static_cast<double>(size);
    if (bytes < certain_from) seen.uneven_bytes += bytes * count;
  }
  seen.certain_sizes.clear();
}

}  // namespace

void Seen::merge(const Seen& other) {
  sums.merge(other.sums);
  cut.merge(other.cut);
  for (const auto& [size, count] : other.certain_sizes) certain_sizes[size] += count;
}

void add_run(SiteSide& side, const Seen& seen, std::uint32_t run) {
  const estimation::NodeSums& sums = seen.sums;
  side.merge(seen);
  if (seen.samples() == 0) return;
  side.values.push_back({run, sums.certain_bytes, sums.weighted_bytes, sums.bytes_variance});
}

void settle(SiteSide& side, double certain_from, const estimation::NodeSums& total) {
  settle(static_cast<Seen&>(side), certain_from, total);
  settle(side.moved, certain_from, total);
}

void leave_cut_open(SiteSide& side, const SiteSide& total) {
  side.sums.leave_open(estimation::rest_of(side.cut, total.cut).at_most());
  side.moved.sums.leave_open(estimation::rest_of(side.moved.cut, total.moved.cut).at_most());
}

void settle_next_event(SiteSide& before, SiteSide& after) {
  estimation::settle_next_event(before.sums, after.sums);
  estimation::settle_next_event(before.moved.sums, after.moved.sums);
}

void merge_side(SiteSide& into, const SiteSide& from) {
  into.merge(from);
  into.moved.merge(from.moved);
  into.values.insert(into.values.end(), from.values.begin(), from.values.end());
  std::ranges::stable_sort(into.values, {}, &RunValue::run);
  std::vector<RunValue> merged;
  for (const RunValue& value : into.values) {
    if (merged.empty() || merged.back().run != value.run) {
      merged.push_back(value);
      continue;
    }
    merged.back().certain_bytes += value.certain_bytes;
    merged.back().weighted_bytes += value.weighted_bytes;
    merged.back().bytes_variance += value.bytes_variance;
  }
  into.values = std::move(merged);
}

std::vector<std::pair<std::uint32_t, Seen>> seen_by_stack(const profile::Recording& recording,
                                                          const profile::Profile& profile) {
  std::unordered_map<std::uint32_t, CertainSizes> certain;
  for (const profile::Entry& entry : profile.entries) {
    const bool is_sure = is_certain(count_of(entry, recording, profile));
    if (!is_sure) continue;
    certain[entry.stack][entry.requested] +=
        static_cast<double>(entry.count) / profile.averaged_over;
  }
  std::vector<std::pair<std::uint32_t, Seen>> seen;
  for (const profile::Row& row : profile::table(recording, profile, profile::GroupBy::kStack)) {
    seen.push_back({row.stack, {.sums = row.self, .certain_sizes = std::move(certain[row.stack])}});
  }
  return seen;
}

std::vector<std::pair<std::uint32_t, profile::Profile>> parts_by_label(
    const profile::Profile& profile) {
  std::map<std::uint32_t, profile::Profile> by_label;
  const auto part = [&](std::uint32_t label) -> profile::Profile& {
    return by_label.try_emplace(label, with_entries(profile, {})).first->second;
  };
  for (const profile::Entry& entry : profile.entries) part(entry.label).entries.push_back(entry);
  for (const profile::Entry& entry : profile.open) part(entry.label).open.push_back(entry);
  return {std::move_iterator(by_label.begin()), std::move_iterator(by_label.end())};
}

}  // namespace geiger::compare
