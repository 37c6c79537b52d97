#include "fleet/document/cut.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/profile/select/profile.h"
#include "analysis/profile/select/totals.h"
#include "fleet/document/document.h"

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
    window.began_ms = from / static_cast<std::int64_t>(kPerMillisecond);
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

namespace {

using profile::kNone;
using profile::Recording;

RowKey key_of(const Recording& recording, const SharedStacks& stacks, const profile::Entry& entry,
              std::uint32_t thinning) {
  const Bytes interval = std::max(recording.epochs[entry.epoch].interval, Bytes{1});
  return {stacks.id(entry.stack), entry.requested, interval, thinning, entry.is_certain};
}

std::vector<CountRow> listed(const Rows& rows) {
  std::vector<CountRow> list;
  list.reserve(rows.size());
  for (const auto& [key, numbers] : rows) {
    const auto& [stack, size, interval, thinning, is_certain] = key;
    list.push_back({stack, size, interval, thinning, is_certain, numbers.allocated, numbers.live});
  }
  return list;
}

/// Moves the rows with fewest bytes to the stack kUntoldStacks. Whole stacks are moved, so that the
/// others stay exact.
std::vector<CountRow> bounded(Rows rows, StackId untold) {
  if (rows.size() <= kMostRows) return listed(rows);
  struct Size {
    double bytes = 0;
    std::size_t rows = 0;
  };
  std::map<StackId, Size> sizes;
  for (const auto& [key, numbers] : rows) {
    Size& size = sizes[std::get<0>(key)];
    // Each sample stands for about an interval, or for its own size.
    const Bytes bytes = std::max(std::get<1>(key), std::get<2>(key));
    size.bytes +=
        static_cast<double>(bytes) * static_cast<double>(numbers.allocated + numbers.live);
    ++size.rows;
  }
  std::vector<std::pair<StackId, Size>> least_first(sizes.begin(), sizes.end());
  std::ranges::sort(least_first, {}, [](const auto& each) { return each.second.bytes; });
  std::set<StackId> moved;
  std::size_t left = rows.size();
  // Moved rows are merged by size, at most one row per size.
  for (const auto& [stack, size] : least_first) {
    if (left <= kMostRows / 2) break;
    moved.insert(stack);
    left -= size.rows;
  }
  Rows kept;
  for (const auto& [key, numbers] : rows) {
    RowKey to = key;
    if (moved.contains(std::get<0>(key))) std::get<0>(to) = untold;
    RowNumbers& sum = kept[to];
    sum.allocated += numbers.allocated;
    sum.live += numbers.live;
  }
  return listed(kept);
}

Bytes largest_interval_in(const Recording& recording) {
  Bytes largest = 1;
  for (const profile::Epoch& epoch : recording.epochs) largest = std::max(largest, epoch.interval);
  return largest;
}

}  // namespace

SharedStacks::SharedStacks(const Recording& recording) : recording_(recording) {
  for (const profile::Location& location : recording.locations) {
    locations_.push_back(of(location));
  }
  for (const profile::Stack& stack : recording.stacks) {
    Stack& shared = stacks_.emplace_back();
    shared.is_truncated = stack.is_truncated;
    for (const std::uint32_t location : stack.locations) {
      if (shared.locations.size() == kMostDepth) break;
      shared.locations.push_back(locations_[location].id);
      places_[locations_[location].id] = location;
    }
    shared.id = id_of(shared);
  }
  stacks_.emplace_back().id = id_of(Stack{});  // Of samples without a stack.
  Location& untold = locations_.emplace_back();
  untold.frames.push_back({std::string(profile::kUntoldStacks), "", "", 0});
  untold.id = id_of(untold);
  places_[untold.id] = static_cast<std::uint32_t>(locations_.size() - 1);
  Stack& rest = stacks_.emplace_back();
  rest.locations.push_back(untold.id);
  rest.id = id_of(rest);
}

void SharedStacks::add_to(Document& document) const {
  std::set<StackId> wanted;
  for (const CountRow& row : document.counts) wanted.insert(row.stack);
  std::set<LocationId> locations;
  for (const Stack& stack : stacks_) {
    if (wanted.erase(stack.id) == 0) continue;
    document.stacks.push_back(stack);
    locations.insert(stack.locations.begin(), stack.locations.end());
  }
  // What stacks share is sent once between neighbours. The stack of all that were moved stays last.
  const bool has_untold = !document.stacks.empty() && document.stacks.back().id == untold();
  std::sort(document.stacks.begin(), document.stacks.end() - (has_untold ? 1 : 0),
            [](const Stack& a, const Stack& b) {
              return std::lexicographical_compare(a.locations.rbegin(), a.locations.rend(),
                                                  b.locations.rbegin(), b.locations.rend());
            });
  for (const LocationId id : locations) document.locations.push_back(locations_[places_.at(id)]);
  // Neighbours in a module differ little, so that their differences pack well.
  std::ranges::sort(document.locations, [](const Location& a, const Location& b) {
    const auto line = [](const Location& each) {
      return each.frames.empty() ? 0 : each.frames.front().line;
    };
    return std::tuple(std::tie(a.module, a.address), line(a), a.id) <
           std::tuple(std::tie(b.module, b.address), line(b), b.id);
  });
}

Location SharedStacks::of(const profile::Location& location) const {
  Location shared;
  shared.address = location.vaddr;
  if (location.module != kNone) {
    const profile::Module& module = recording_.modules[location.module];
    shared.module = document_text(module.path);
    shared.build_id = document_text(module.build_id);
    shared.kind = module.kind;
  }
  for (const std::uint32_t frame : location.frames) {
    const profile::Frame& known = recording_.frames[frame];
    shared.frames.push_back({document_text(known.function), document_text(known.system_name),
                             document_text(known.file), known.line});
  }
  shared.id = id_of(shared);
  return shared;
}

void add_rows(Rows& rows, const Recording& recording, const SharedStacks& stacks,
              const profile::Selection& selection, std::uint32_t thinning) {
  const bool is_live = selection.kind == profile::Kind::kLiveAtEnd;
  for (const profile::Entry& entry : profile::select(recording, selection).entries) {
    RowNumbers& numbers = rows[key_of(recording, stacks, entry, thinning)];
    (is_live ? numbers.live : numbers.allocated) += entry.count;
  }
}

profile::Selection all_of(std::uint32_t process, profile::Kind kind) {
  profile::Selection selection;
  selection.kind = kind;
  selection.at_own_ends = true;
  selection.keeps = [process](const profile::Sample& sample) { return sample.process == process; };
  return selection;
}

void add_counts(Document& document, Rows rows, const SharedStacks& stacks) {
  document.counts = bounded(std::move(rows), stacks.untold());
  stacks.add_to(document);
}

Window window_of(const Recording& recording, std::uint32_t number, const Origin& origin) {
  const profile::Process& process = recording.processes[number];
  Window window;
  window.key = {origin.service, origin.version, origin.host, id_of(process, origin.host), 0};
  window.is_from_start = !process.is_attached && !process.misses_beginning();
  window.is_pure = process.is_pure;
  window.interval = largest_interval_in(recording);
  window.thinning = process.thinning;
  window.seed = process.seed;
  window.executable = document_text(process.executable);
  window.labels = origin.labels;
  return window;
}

}  // namespace geiger::fleet
