#include "analysis/export/profile_rows.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>

#include "analysis/export/shown_stacks.h"
#include "analysis/profile/frames/types.h"
#include "analysis/profile/select/gaps.h"
#include "estimation/rounding.h"

namespace geiger::exports {

namespace {

using profile::Entry;
using profile::Profile;
using profile::Recording;
using profile::Types;

/// The interval at which pi of a kind of samples is what it is, without halves and thinning.
Bytes effective_interval(const Entry& entry, const Recording& recording, const Profile& profile) {
  const estimation::Count count = count_of(entry, recording, profile);
  const Bytes interval = recording.epochs[entry.epoch].interval;
  if (is_certain(count) ||
      (count.lambda == recording.epochs[entry.epoch].lambda && count.keep >= 1))
    return interval;
  constexpr double kMost = 0x1p62;
  const double mean = -1 / std::expm1(-effective_rate(count));
  return static_cast<Bytes>(std::llround(std::clamp(mean, 1.0, kMost)));
}

/// Finds the row of an entry.
class Rows {
 public:
  Rows(const Recording& recording, const Types& types, const RowExtent& extent)
      : recording_(recording), types_(types), extent_(extent) {}

  [[nodiscard]] ProfileRow of(const Entry& entry, const Profile& profile) const;
  /// The rows of all entries, sorted, each once.
  [[nodiscard]] std::vector<ProfileRow> of_all(std::initializer_list<const Profile*> profiles);

 private:
  void leave_out_smallest(std::initializer_list<const Profile*> profiles);

  const Recording& recording_;
  const Types& types_;
  RowExtent extent_;
  std::set<std::uint32_t> others_;  ///< Stacks that have no row of their own.
};

ProfileRow row_of(const Entry& entry, const Recording& recording, const Profile& profile,
                  const Types& types) {
  return {entry.stack,     entry.thread,
          entry.requested, effective_interval(entry, recording, profile),
          entry.label,     types.of(entry.type, entry.stack)};
}

ProfileRow Rows::of(const Entry& entry, const Profile& profile) const {
  if (extent_.has_stacks_only) {
    return {.stack = others_.contains(entry.stack) ? kOtherStacks : entry.stack};
  }
  ProfileRow row = row_of(entry, recording_, profile, types_);
  if (!extent_.has_sizes) row.requested = row.interval = 0;
  return row;
}

std::vector<ProfileRow> Rows::of_all(std::initializer_list<const Profile*> profiles) {
  if (extent_.has_stacks_only && extent_.most_rows != 0) leave_out_smallest(profiles);
  std::vector<ProfileRow> rows;
  for (const Profile* profile : profiles) {
    for (const Entry& entry : profile->entries) rows.push_back(of(entry, *profile));
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

void Rows::leave_out_smallest(std::initializer_list<const Profile*> profiles) {
  std::map<std::uint32_t, double> bytes;
  for (const Profile* profile : profiles) {
    for (const Entry& entry : profile->entries) {
      estimation::NodeSums sums;
      accumulate(sums, entry, recording_, *profile);
      bytes[entry.stack] += sums.all_bytes();
    }
  }
  if (bytes.size() <= extent_.most_rows) return;
  std::vector<std::pair<double, std::uint32_t>> smallest_first;
  for (const auto& [stack, size] : bytes) smallest_first.emplace_back(size, stack);
  std::sort(smallest_first.begin(), smallest_first.end());
  // One row is that of the others.
  smallest_first.resize(bytes.size() - extent_.most_rows + 1);
  for (const auto& [size, stack] : smallest_first) others_.insert(stack);
}

/// The five columns that one profile fills, as real numbers.
struct Columns {
  explicit Columns(std::size_t rows)
      : objects(rows), bytes(rows), objects_variance(rows), bytes_variance(rows), samples(rows) {}

  void add(std::size_t row, const estimation::NodeSums& sums) {
    const auto certain = static_cast<double>(sums.certain_samples);
    objects[row] += sums.objects + certain;
    bytes[row] += sums.all_bytes();
    objects_variance[row] += sums.objects_variance;
    bytes_variance[row] += sums.bytes_variance;
    samples[row] += static_cast<double>(sums.samples) + certain;
  }

  std::vector<double> objects, bytes, objects_variance, bytes_variance, samples;
};

Columns columns_of(const Recording& recording, const Rows& finder, const Profile& profile,
                   const std::vector<ProfileRow>& rows) {
  Columns columns(rows.size());
  for (const Entry& entry : profile.entries) {
    estimation::NodeSums sums;
    accumulate(sums, entry, recording, profile);
    const ProfileRow row = finder.of(entry, profile);
    const auto at = std::lower_bound(rows.begin(), rows.end(), row);
    columns.add(static_cast<std::size_t>(at - rows.begin()), sums);
  }
  return columns;
}

}  // namespace

ProfileTable profile_table(const Recording& recording, const Types& types, const Profile& allocated,
                           const Profile& live, const RowExtent& extent) {
  Rows rows(recording, types, extent);
  ProfileTable table{rows.of_all({&allocated, &live}), {}};
  const auto fill = [&](const Profile& profile, std::size_t objects, std::size_t samples) {
    const Columns columns = columns_of(recording, rows, profile, table.rows);
    table.columns[objects] = estimation::round_to_total(columns.objects);
    table.columns[objects + 1] = estimation::round_to_total(columns.bytes);
    table.columns[objects + 4] = estimation::round_to_total(columns.objects_variance);
    table.columns[objects + 5] = estimation::round_to_total(columns.bytes_variance);
    table.columns[samples] = estimation::round_to_total(columns.samples);
  };
  fill(allocated, 0, 8);
  fill(live, 2, 9);
  return table;
}

/// The largest interval that was in force: what left no sample may have been missed by it. 0 of
/// values whose errors are not known.
Bytes period_of(const profile::Recording& recording) {
  if (profile::is_any_without_errors(recording)) return 0;
  Bytes largest = recording.processes.empty() ? 0 : recording.processes.front().interval;
  for (const profile::Epoch& epoch : recording.epochs) largest = std::max(largest, epoch.interval);
  return largest;
}

RecordedTime recorded_time(const profile::Recording& recording) {
  if (recording.processes.empty()) return {};
  const profile::Process& first = recording.processes.front();
  RecordedTime time{first.start, first.end, first.start_realtime};
  for (const profile::Process& process : recording.processes) {
    time.start = std::min(time.start, process.start);
    time.end = std::max(time.end, process.end);
    time.realtime = std::min(time.realtime, process.start_realtime);
  }
  time.end = std::max(time.end, time.start);
  return time;
}

}  // namespace geiger::exports
