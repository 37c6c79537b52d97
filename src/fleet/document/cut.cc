#include "fleet/document/cut.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "analysis/profile/profile.h"
#include "analysis/profile/totals.h"
#include "fleet/document/limits.h"
#include "fleet/document/rows.h"

namespace geiger::fleet {
namespace {

using profile::Kind;
using profile::Process;
using profile::Recording;
using profile::Selection;

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr std::uint64_t kPerMillisecond = 1'000'000;
/// Of a process, more than a year: each takes time, and a damaged end could ask for millions.
constexpr std::int64_t kMostWindows = 65'536;
/// In 2116. Sums of an instant and a duration do not overflow.
constexpr Nanoseconds kLatest = Nanoseconds{1} << 62;

base::Outcome<void> check_times(const Process& process) {
  constexpr auto kLongest = static_cast<Nanoseconds>(kMostWindows * kGrid * kNanoseconds);
  if (process.start_realtime > kLatest) return base::Failure{"it started too late"};
  if (process.end > process.start && process.end - process.start > kLongest) {
    return base::Failure{"it was recorded for longer than a year"};
  }
  return {};
}

/// Cuts one process, whose times are possible.
class Cutter {
 public:
  Cutter(const Recording& recording, const SharedStacks& stacks, const Origin& origin,
         std::uint32_t process)
      : recording_(recording),
        stacks_(stacks),
        origin_(origin),
        number_(process),
        process_(recording.processes[process]),
        start_(static_cast<std::int64_t>(process_.start_realtime)),
        end_(start_ +
             static_cast<std::int64_t>(std::max(process_.end, process_.start) - process_.start)) {}

  [[nodiscard]] std::vector<Document> documents() const {
    const std::int64_t first = start_ / kNanoseconds / kGrid * kGrid;
    const bool has_instants = !process_.is_aggregated;
    const std::int64_t last =
        has_instants ? std::max(end_ - 1, start_) / kNanoseconds / kGrid * kGrid : first;
    std::vector<Document> documents;
    for (std::int64_t started = first; started <= last; started += kGrid) {
      const bool is_whole = first == last;
      Document document = window(started, is_whole ? std::nullopt : std::optional(started + kGrid));
      document.window.sequence = documents.size();
      if (started == last) add_totals(document.window, is_whole);
      documents.push_back(std::move(document));
    }
    return documents;
  }

 private:
  /// CLOCK_MONOTONIC of the process at an instant in Unix seconds.
  [[nodiscard]] Nanoseconds monotonic(std::int64_t seconds) const {
    const std::int64_t since = seconds * kNanoseconds - start_;
    return since > 0 ? process_.start + static_cast<Nanoseconds>(since) : process_.start;
  }

  /// Samples from `started` until `end`; without `end`, all.
  [[nodiscard]] Document window(std::int64_t started, std::optional<std::int64_t> end) const {
    Document document;
    Window& window = document.window = window_of(recording_, number_, origin_);
    window.key.started = started;
    const std::int64_t from = std::max(started * kNanoseconds, start_);
    const std::int64_t to = end ? std::min(*end * kNanoseconds, end_) : end_;
    const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(to - from, 0));
    window.recorded_ms = std::max<std::uint64_t>(length / kPerMillisecond, 1);
    window.alive_ms = window.recorded_ms;
    Selection allocated = all_of(number_, Kind::kAllocated);
    Selection live = all_of(number_, Kind::kLiveAtEnd);
    if (end) {
      if (started * kNanoseconds > start_) allocated.from = monotonic(started);
      const bool is_last = to == end_;
      if (!is_last) allocated.to = live.at = monotonic(*end);
    }
    window.rss_byte_seconds = resident_between(from, to);
    Rows rows;
    add_rows(rows, recording_, stacks_, allocated, 0);
    add_rows(rows, recording_, stacks_, live, process_.thinning);
    add_counts(document, std::move(rows), stacks_);
    return document;
  }

  /// Resident memory times time, each reading until the next one; 0 without readings.
  [[nodiscard]] std::uint64_t resident_between(std::int64_t from, std::int64_t to) const {
    const auto own =
        std::ranges::find(recording_.observations, number_, &profile::Observations::process);
    if (own == recording_.observations.end() || own->series.empty()) return 0;
    const auto since = [&](std::int64_t time) {
      return process_.start + static_cast<Nanoseconds>(std::max<std::int64_t>(time - start_, 0));
    };
    const Nanoseconds begin = since(from), end = since(to);
    double sum = 0;
    for (std::size_t i = 0; i < own->series.size(); ++i) {
      // The first reading counts from the start, the last one until the end.
      const Nanoseconds first = i == 0 ? begin : std::max(own->series[i].time, begin);
      const Nanoseconds last =
          i + 1 == own->series.size() ? end : std::min(own->series[i + 1].time, end);
      if (last <= first) continue;
      const auto resident = static_cast<double>(own->series[i].counts.resident);
      sum += resident * static_cast<double>(last - first);
    }
    return static_cast<std::uint64_t>(std::min(sum / static_cast<double>(kNanoseconds), kMostSum));
  }

  /// Above every limit, and a number of 64 bits.
  static constexpr double kMostSum = 0x1p62;

  void add_totals(Window& window, bool is_whole) const {
    const profile::ProcessTotals totals = profile::process_totals(recording_, number_);
    if (is_whole) window.exact_bytes = totals.exact_bytes;
    window.unsettled_bytes = totals.unsettled_bound;
    window.trials = totals.trials;
    window.hits = totals.hits;
    window.dropped =
        std::accumulate(process_.drops.begin(), process_.drops.end(), std::uint64_t{0});
  }

  const Recording& recording_;
  const SharedStacks& stacks_;
  const Origin& origin_;
  std::uint32_t number_;
  const Process& process_;
  std::int64_t start_, end_;  ///< Of the recording, nanoseconds since 1970.
};

/// All of a process or nothing: its totals are in the last document.
base::Outcome<std::vector<Document>> documents_of_process(const Recording& recording,
                                                          const SharedStacks& stacks,
                                                          const Origin& origin,
                                                          std::uint32_t process) {
  GEIGER_TRY(check_times(recording.processes[process]));
  auto documents = Cutter(recording, stacks, origin, process).documents();
  for (const Document& document : documents) GEIGER_TRY(check_limits(document));
  return documents;
}

}  // namespace

base::Outcome<CutRecording> cut(const Recording& recording, const Origin& origin) {
  for (const auto& [what, name] : {std::pair("service", &origin.service),
                                   {"version", &origin.version},
                                   {"host", &origin.host}}) {
    GEIGER_TRY(check_name(*name).with_prefix(std::string("the ") + what + " has no valid name: "));
  }
  const SharedStacks stacks(recording);
  CutRecording all;
  for (std::uint32_t i = 0; i < recording.processes.size(); ++i) {
    if (recording.processes[i].is_imported) {
      return base::Failure{"profiles of other programs cannot be sent: they have no exact counts"};
    }
    auto documents = documents_of_process(recording, stacks, origin, i);
    if (documents.has_value()) {
      std::ranges::move(documents.value(), std::back_inserter(all.documents));
    } else {
      all.left_out.push_back({i, documents.reason()});
    }
  }
  return all;
}

}  // namespace geiger::fleet
