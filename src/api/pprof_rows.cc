#include "api/pprof_rows.h"

#include <bit>
#include <map>

#include "estimation/rounding.h"
#include "estimation/sums.h"

namespace geiger::api {
namespace {

PprofEnd end_of(const Profile& profile, const Drawn& drawn) {
  if (!profile.has_lifetimes()) return {};
  const Nanoseconds born = profile.trace.sample(drawn.ref).time;
  const Nanoseconds age = drawn.until > born ? drawn.until - born : 0;
  const auto log2_age = static_cast<std::uint32_t>(std::bit_width(age | 1) - 1);
  return {drawn.free_stack, drawn.free_thread, log2_age, drawn.is_freed};
}

PprofRow row_of(const Profile& profile, const Drawn& drawn) {
  const MappedTrace& trace = profile.trace;
  const trace::SampleRecord& record = trace.sample(drawn.ref);
  return {
      record.stack,       record.label,   record.type,           trace.header_of(drawn.ref).thread,
      record.requested(), drawn.interval, end_of(profile, drawn)};
}

/// The sums of a row: separate ones for objects and measured bytes.
struct Sums {
  estimation::NodeSums objects, bytes;
};

void add(Sums& sums, const MappedTrace& trace, const Drawn& drawn) {
  const Bytes size = trace.sample(drawn.ref).requested();
  if (drawn.is_certain) {
    sums.objects.add_certain(size);
    sums.bytes.add_certain(drawn.value);
  } else {
    sums.objects.add(size, drawn.lambda);
    sums.bytes.add(size, drawn.lambda, 1, 1.0, drawn.value);
  }
}

std::map<PprofRow, Sums> grouped(const Profile& profile, geiger_heap heap) {
  std::map<PprofRow, Sums> groups;
  for (const Drawn& drawn : profile.samples) {
    if (profile.trace.sample(drawn.ref).heap() != heap) continue;
    add(groups[row_of(profile, drawn)], profile.trace, drawn);
  }
  return groups;
}

/// Objects, space, their variances, and samples, as columns of real numbers.
std::array<std::vector<double>, 5> columns_of(const std::map<PprofRow, Sums>& groups) {
  std::array<std::vector<double>, 5> columns;
  for (const auto& [row, sums] : groups) {
    const auto certain = static_cast<double>(sums.objects.certain_samples);
    columns[0].push_back(sums.objects.objects + certain);
    columns[1].push_back(sums.bytes.all_bytes());
    columns[2].push_back(sums.objects.objects_variance);
    columns[3].push_back(sums.bytes.bytes_variance);
    columns[4].push_back(static_cast<double>(sums.objects.samples) + certain);
  }
  return columns;
}

}  // namespace

PprofTable pprof_table(const Profile& profile, geiger_heap heap) {
  const std::map<PprofRow, Sums> groups = grouped(profile, heap);
  PprofTable table;
  for (const auto& [row, sums] : groups) table.rows.push_back(row);
  for (auto& column : table.columns) column.assign(groups.size(), 0);
  constexpr std::array<std::size_t, 5> kAllocated{0, 1, 4, 5, 8};
  constexpr std::array<std::size_t, 5> kInUse{2, 3, 6, 7, 9};
  const auto& places = profile.is_snapshot() ? kInUse : kAllocated;
  const auto columns = columns_of(groups);
  for (std::size_t i = 0; i < places.size(); ++i) {
    table.columns[places[i]] = estimation::round_to_total(columns[i]);
  }
  return table;
}

}  // namespace geiger::api
