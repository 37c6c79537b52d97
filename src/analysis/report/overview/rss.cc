#include "analysis/report/overview/rss.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "analysis/present/recording_words.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/select/peak.h"

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

/// `live`, which cannot be more than the anonymous memory that objects may lie in.
Estimate cut_at(Estimate live, double most) {
  live.value = std::min(live.value, most);
  live.interval.hi = std::min(live.interval.hi, most);
  return live;
}

/// What remains of `whole` after `before`, then `part`, have been taken from both together: part
/// takes from `before` as long as there is any. At least 0.
Estimate rest_of(const Estimate& part, double before, double whole) {
  const auto rest = [=](double taken) {
    return std::clamp(whole + before - std::max(taken, before), 0.0, whole);
  };
  // A difference has no upper limit of its own where there are no samples.
  return {rest(part.value),
          part.variance,
          {rest(part.interval.hi), rest(part.interval.lo)},
          std::max<std::uint64_t>(part.samples, 1),
          0};
}

/// Whether objects that were live at `time` may have no sample for another reason than chance.
bool misses_objects(const profile::Process& process, Nanoseconds time) {
  const auto is_incomplete = [](const profile::Segment& segment) {
    return !segment.is_complete || segment.lost > 0;
  };
  const bool ended_early = process.ending == profile::Ending::kSwitchedOff ||
                           process.ending == profile::Ending::kStopped ||
                           process.ending == profile::Ending::kContinued;
  return process.is_attached || process.is_fork_child ||
         std::ranges::any_of(process.segments, is_incomplete) ||
         vocabulary::lost_samples(process.drops) > 0 || (ended_early && time > process.end);
}

present::Share share_of_rss(const Estimate& bytes, Bytes resident) {
  if (resident == 0) return {};
  const auto rss = static_cast<double>(resident);
  return {bytes.value / rss, {bytes.interval.lo / rss, bytes.interval.hi / rss}};
}

/// Objects lie in the allocator's mappings, where sampled ones do; where they are more than these
/// hold, the others lie in other anonymous memory. The sum of the three is counted.
void add_rows(RssReport& report, const Snapshot& snapshot) {
  const auto add = [&](RssPart part, const Estimate& bytes) {
    report.rows.push_back({part, bytes, share_of_rss(bytes, report.resident)});
  };
  const auto resident = [&](MapKind kind) {
    return static_cast<double>(snapshot.of(kind).resident);
  };
  const bool is_known = report.residency_fault.empty();
  const Estimate& counted = (is_known ? report.live_resident : report.live).bytes;
  const double heap = resident(MapKind::kMallocHeap), others = resident(MapKind::kAnonymous);
  const double most = heap + others;
  report.excess = is_known ? std::max(0.0, counted.interval.lo - most) : 0;
  report.outside = is_known ? std::max(0.0, counted.interval.lo - heap) : 0;
  const Estimate live = report.excess > 0 ? counted : cut_at(counted, most);
  if (report.misses_objects) {
    add(RssPart::kSeenHeap, live);
    add(RssPart::kNotSeen, rest_of(live, 0, most));
  } else {
    add(RssPart::kLiveHeap, live);
    add(RssPart::kAllocator, rest_of(live, 0, heap));
  }
  add(RssPart::kMapped, exactly(resident(MapKind::kMapped)));
  if (!report.misses_objects) add(RssPart::kAnonymous, rest_of(live, heap, others));
  constexpr std::pair<RssPart, MapKind> kExact[] = {{RssPart::kStacks, MapKind::kStack},
                                                    {RssPart::kFiles, MapKind::kFile},
                                                    {RssPart::kShared, MapKind::kShared},
                                                    {RssPart::kRuntime, MapKind::kRuntime},
                                                    {RssPart::kOther, MapKind::kOther}};
  for (const auto& [part, kind] : kExact) add(part, exactly(resident(kind)));
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
  const Observations* observations = GEIGER_TRY(observed(recording, options));
  const Snapshot& snapshot = *snapshot_at(*observations, options.moment);
  RssReport report;
  report.options = options;
  report.process = observations->process;
  if (recording.processes.size() > 1) {
    const profile::Process& process = recording.processes[report.process];
    report.whose =
        fmt::format(" of {} (pid {})", present::printable(profile::program_name(process)),
                    present::pid_text(process));
  }
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
  report.misses_objects = misses_objects(recording.processes[report.process], snapshot.time);
  measure_live(report, recording, snapshot);
  add_rows(report, snapshot);
  return report;
}

bool RssReport::has_shares() const {
  const bool is_maximum = options.moment == profile::Moment::kMaximum;
  return excess == 0 && !(is_maximum && high_water / 10 * 9 > resident);
}

std::string explained_line(const RssReport& report) {
  if (report.resident == 0) return "";
  const std::string resident = present::exact_bytes(report.resident);
  if (report.excess > 0) {
    return fmt::format(
        "what makes up {} of resident memory is not known: two ways of counting contradict each "
        "other",
        resident);
  }
  if (!report.has_shares()) {
    return fmt::format(
        "memory{} was not read near its resident peak of {}: the largest reading, {} after the "
        "start, "
        "was {}",
        report.whose, present::exact_bytes(report.high_water), present::duration(report.after),
        resident);
  }
  const bool is_last = report.options.moment == profile::Moment::kLast;
  return fmt::format("the heap{} is {} of {}resident memory at its {}, {}", report.whose,
                     present::figure(report.rows.front().share).text(),
                     report.whose.empty() ? "" : "its ",
                     is_last ? "last reading" : "largest detailed reading", resident);
}

std::string_view key_of(RssPart part) {
  constexpr std::string_view kKeys[] = {
      "live_heap", "allocator", "live_seen", "not_seen_or_allocator",
      "mapped",    "anonymous", "stacks",    "files",
      "shared",    "geiger",    "other"};
  const auto index = static_cast<std::size_t>(part);
  return index < std::size(kKeys) ? kKeys[index] : "";
}

std::string_view text_of(RssPart part) {
  constexpr std::string_view kTexts[] = {"live heap",
                                         "allocator: overhead, caches, free",
                                         "live heap that was seen",
                                         "not seen, or allocator",
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
