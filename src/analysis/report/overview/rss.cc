#include "analysis/report/overview/rss.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/profile/labels.h"
#include "analysis/profile/peak.h"

namespace geiger::report {
namespace {

using estimation::Estimate;
using profile::Kind;
using profile::MapKind;
using profile::Observations;
using profile::Recording;
using profile::Snapshot;

Bytes largest_seen(const Observations& observations) {
  return observations.at_maximum ? observations.at_maximum->resident() : 0;
}

/// The process that the options name.
base::Outcome<const Observations*> observed(const Recording& recording, const RssOptions& options) {
  const Observations* largest = nullptr;
  std::string fault;
  for (const Observations& each : recording.observations) {
    const bool is_meant = !options.pid || recording.processes[each.process].pid == *options.pid;
    if (!is_meant) continue;
    if (snapshot_at(each, options.moment) == nullptr) {
      fault = each.fault.empty() ? "ended before its memory was read" : each.fault;
    } else if (largest == nullptr || largest_seen(*largest) < largest_seen(each)) {
      largest = &each;
    }
  }
  if (largest != nullptr) return largest;
  if (options.pid) {
    return base::Failure{
        fmt::format("process {}: {}", *options.pid, fault.empty() ? "not observed" : fault)};
  }
  return base::Failure{fault.empty()
                           ? "no process was observed: record with geiger run, without --no-observe"
                           : "the processes: " + fault};
}

estimation::NodeSums sums_of(const Recording& recording, std::uint32_t process, Kind kind,
                             profile::Moment moment) {
  profile::Selection selection;
  selection.kind = kind;
  selection.moment = moment;
  selection.keeps = [process](const profile::Sample& sample) { return sample.process == process; };
  return total(recording, select(recording, selection));
}

estimation::NodeSums live_sums(const Recording& recording, std::uint32_t process,
                               Nanoseconds time) {
  profile::Selection selection;
  selection.kind = Kind::kLiveAtEnd;
  selection.at = std::min(time, recording.processes[process].end);
  selection.keeps = [=](const profile::Sample& sample) { return sample.process == process; };
  return total(recording, select(recording, selection));
}

Estimate exactly(double bytes) { return {bytes, 0, {bytes, bytes}, 0, bytes}; }

/// `live`, which cannot be more than the mappings it lies in.
Estimate cut_at(Estimate live, double most) {
  live.value = std::min(live.value, most);
  live.interval = {std::min(live.interval.lo, most), std::min(live.interval.hi, most)};
  return live;
}

Estimate rest_of(const Estimate& part, double whole) {
  return {whole - part.value,
          part.variance,
          {whole - part.interval.hi, whole - part.interval.lo},
          part.samples,
          0};
}

present::Share share_of_rss(const Estimate& bytes, Bytes resident) {
  if (resident == 0) return {};
  const auto rss = static_cast<double>(resident);
  return {bytes.value / rss, {bytes.interval.lo / rss, bytes.interval.hi / rss}};
}

void add_rows(RssReport& report, const Snapshot& snapshot) {
  const auto add = [&](RssPart part, const Estimate& bytes) {
    report.rows.push_back({part, bytes, share_of_rss(bytes, report.resident)});
  };
  const auto heap = static_cast<double>(snapshot.of(MapKind::kMallocHeap).resident);
  const bool is_known = report.residency_fault.empty();
  const Estimate live = cut_at((is_known ? report.live_resident : report.live).bytes, heap);
  add(RssPart::kLiveHeap, live);
  add(RssPart::kAllocator, rest_of(live, heap));
  constexpr std::pair<RssPart, MapKind> kExact[] = {
      {RssPart::kMapped, MapKind::kMapped}, {RssPart::kAnonymous, MapKind::kAnonymous},
      {RssPart::kStacks, MapKind::kStack},  {RssPart::kFiles, MapKind::kFile},
      {RssPart::kShared, MapKind::kShared}, {RssPart::kRuntime, MapKind::kRuntime},
      {RssPart::kOther, MapKind::kOther}};
  for (const auto& [part, kind] : kExact) {
    add(part, exactly(static_cast<double>(snapshot.of(kind).resident)));
  }
}

void measure_live(RssReport& report, const Recording& recording, const Snapshot& snapshot) {
  const double level = report.options.level;
  report.live = present::measure_total(live_sums(recording, report.process, snapshot.time), level);
  const auto of = [&](Kind kind) {
    return present::measure_total(sums_of(recording, report.process, kind, report.options.moment),
                                  level);
  };
  report.residency_fault = snapshot.residency_fault;
  if (!report.residency_fault.empty()) return;
  report.live_resident = of(Kind::kResident);
  report.live_swapped = of(Kind::kSwapped);
  report.live_untouched = of(Kind::kUntouched);
}

}  // namespace

base::Outcome<RssReport> rss_report(const Recording& recording, const RssOptions& options) {
  const auto found = observed(recording, options);
  if (!found.has_value()) return found.failure();
  const Observations* observations = found.value();
  const Snapshot& snapshot = *snapshot_at(*observations, options.moment);
  RssReport report;
  report.options = options;
  report.process = observations->process;
  const Nanoseconds start = recording.processes[report.process].start;
  report.after = snapshot.time - std::min(snapshot.time, start);
  report.resident = snapshot.resident();
  for (const profile::MapTotals& totals : snapshot.maps) report.swapped += totals.swapped;
  report.high_water = std::max(observations->high_water, report.resident);
  report.series = observations->series;
  report.refused = observations->refused;
  report.cost = observations->cost;
  if (!report.series.empty()) {
    report.observed = report.series.back().time - report.series.front().time;
  }
  report.census = snapshot.census;
  measure_live(report, recording, snapshot);
  add_rows(report, snapshot);
  return report;
}

std::string explained_line(const RssReport& report) {
  if (report.resident == 0) return "";
  const std::string read_after = present::duration(report.after);
  const std::string high_water = present::exact_bytes(report.high_water);
  std::string when = "at its maximum";
  if (report.options.moment == profile::Moment::kLast) {
    when = "at its last reading";
  } else if (report.high_water / 2 > report.resident) {
    return fmt::format(
        "no reading was near the maximum RSS, {}: the largest, {} after the start, found {}",
        high_water, read_after, present::exact_bytes(report.resident));
  } else if (report.high_water / 10 * 9 > report.resident) {
    when = fmt::format("at its largest reading, {} after the start (the kernel's maximum: {})",
                       read_after, high_water);
  }
  return fmt::format("malloc profile explains {} of {} RSS {}",
                     present::figure(report.rows.front().share).text(),
                     present::exact_bytes(report.resident), when);
}

std::string_view key_of(RssPart part) {
  constexpr std::string_view kKeys[] = {"live_heap", "allocator", "mapped", "anonymous", "stacks",
                                        "files",     "shared",    "geiger", "other"};
  return kKeys[static_cast<std::size_t>(part)];
}

std::string_view text_of(RssPart part) {
  constexpr std::string_view kTexts[] = {"live heap",
                                         "allocator: overhead, caches, free",
                                         "mapped by the program itself",
                                         "other anonymous memory",
                                         "stacks",
                                         "files: code and data",
                                         "shared memory",
                                         "geiger",
                                         "other"};
  return kTexts[static_cast<std::size_t>(part)];
}

}  // namespace geiger::report
