#include "fleet/document/cut.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/profile/profile.h"
#include "analysis/profile/thinned.h"
#include "analysis/profile/totals.h"
#include "base/utf8_text.h"
#include "fleet/document/ids.h"
#include "fleet/document/limits.h"

namespace geiger::fleet {
namespace {

using profile::Kind;
using profile::kNone;
using profile::Process;
using profile::Profile;
using profile::Recording;
using profile::Selection;

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr std::uint64_t kPerMillisecond = 1'000'000;

std::string text_of(std::string_view text) { return to_valid_utf8(text.substr(0, kMostText)); }

/// The stacks of a recording with the ids that they have on every host.
class Stacks {
 public:
  explicit Stacks(const Recording& recording) : recording_(recording) {
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

  [[nodiscard]] StackId id(std::uint32_t stack) const {
    return stack == kNone ? stacks_[recording_.stacks.size()].id : stacks_[stack].id;
  }
  [[nodiscard]] StackId untold() const { return stacks_.back().id; }

  /// Adds the stacks that its rows have, and their locations, each once.
  void add_to(Document& document) const {
    std::set<StackId> wanted;
    for (const CountRow& row : document.counts) wanted.insert(row.stack);
    std::set<LocationId> locations;
    for (const Stack& stack : stacks_) {
      if (wanted.erase(stack.id) == 0) continue;
      document.stacks.push_back(stack);
      locations.insert(stack.locations.begin(), stack.locations.end());
    }
    for (const LocationId id : locations) document.locations.push_back(locations_[places_.at(id)]);
    // Neighbours in a module differ by little, which packs well.
    std::ranges::sort(document.locations, [](const Location& a, const Location& b) {
      return std::tie(a.module, a.address, a.id) < std::tie(b.module, b.address, b.id);
    });
  }

 private:
  [[nodiscard]] Location of(const profile::Location& location) const {
    Location shared;
    shared.address = location.vaddr;
    if (location.module != kNone) {
      const profile::Module& module = recording_.modules[location.module];
      shared.module = text_of(module.path);
      shared.build_id = text_of(module.build_id);
      shared.kind = module.kind;
    }
    for (const std::uint32_t frame : location.frames) {
      const profile::Frame& known = recording_.frames[frame];
      shared.frames.push_back(
          {text_of(known.function), text_of(known.system_name), text_of(known.file), known.line});
    }
    shared.id = id_of(shared);
    return shared;
  }

  const Recording& recording_;
  std::vector<Location> locations_;
  std::vector<Stack> stacks_;
  std::map<LocationId, std::uint32_t> places_;
};

/// Of a row, without its numbers.
using RowKey = std::tuple<StackId, Bytes, Bytes, std::uint32_t, bool>;
struct RowNumbers {
  std::uint64_t allocated = 0, live = 0;
};
using Rows = std::map<RowKey, RowNumbers>;

RowKey key_of(const Recording& recording, const Stacks& stacks, const profile::Entry& entry,
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

/// Moves the rows with fewest bytes to the stack that stands for all that is not told apart.
/// Stacks are moved as a whole, so that the others stay right.
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
  // What is moved becomes rows of other sizes again, at most as many as there are sizes.
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

/// Cuts one process.
class Cutter {
 public:
  Cutter(const Recording& recording, const Stacks& stacks, const Origin& origin,
         std::uint32_t process)
      : recording_(recording),
        stacks_(stacks),
        origin_(origin),
        number_(process),
        process_(recording.processes[process]),
        start_(static_cast<std::int64_t>(process_.start_realtime)),
        end_(start_ +
             static_cast<std::int64_t>(std::max(process_.end, process_.start) - process_.start)) {}

  void add_to(std::vector<Document>& documents) const {
    const std::int64_t first = start_ / kNanoseconds / kGrid * kGrid;
    const bool has_instants = !process_.is_aggregated;
    const std::int64_t last =
        has_instants ? std::max(end_ - 1, start_) / kNanoseconds / kGrid * kGrid : first;
    const std::size_t before = documents.size();
    for (std::int64_t started = first; started <= last; started += kGrid) {
      const bool is_whole = first == last;
      Document document = window(started, is_whole ? std::nullopt : std::optional(started + kGrid));
      document.window.sequence = documents.size() - before;
      if (started == last) add_totals(document.window, is_whole);
      documents.push_back(std::move(document));
    }
  }

 private:
  /// CLOCK_MONOTONIC of the process, of an instant in Unix seconds.
  [[nodiscard]] Nanoseconds monotonic(std::int64_t seconds) const {
    const std::int64_t since = seconds * kNanoseconds - start_;
    return since > 0 ? process_.start + static_cast<Nanoseconds>(since) : process_.start;
  }

  [[nodiscard]] Selection selection_of(Kind kind) const {
    Selection selection;
    selection.kind = kind;
    selection.keeps = [this](const profile::Sample& sample) { return sample.process == number_; };
    return selection;
  }

  /// From `started` until `end`; without one, all there is.
  [[nodiscard]] Document window(std::int64_t started, std::optional<std::int64_t> end) const {
    Document document;
    Window& window = document.window;
    window.key = {origin_.service, origin_.version, origin_.host, id_of(process_, origin_.host),
                  started};
    const std::int64_t from = std::max(started * kNanoseconds, start_);
    const std::int64_t to = end ? std::min(*end * kNanoseconds, end_) : end_;
    const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(to - from, 0));
    window.recorded_ms = std::max<std::uint64_t>(length / kPerMillisecond, 1);
    window.alive_ms = window.recorded_ms;
    window.is_from_start = !process_.is_attached && !process_.misses_beginning();
    window.is_pure = process_.is_pure;
    window.interval = largest_interval_in(recording_);
    window.thinning = process_.thinning;
    window.seed = process_.seed;
    window.executable = text_of(process_.executable);
    window.labels = origin_.labels;
    Selection allocated = selection_of(Kind::kAllocated);
    Selection live = selection_of(Kind::kLiveAtEnd);
    if (end) {
      if (started * kNanoseconds > start_) allocated.from = monotonic(started);
      const bool is_last = to == end_;
      if (!is_last) allocated.to = live.at = monotonic(*end);
    }
    Rows rows;
    for (const profile::Entry& entry : profile::select(recording_, allocated).entries) {
      rows[key_of(recording_, stacks_, entry, 0)].allocated += entry.count;
    }
    for (const profile::Entry& entry : profile::select(recording_, live).entries) {
      rows[key_of(recording_, stacks_, entry, process_.thinning)].live += entry.count;
    }
    document.counts = bounded(std::move(rows), stacks_.untold());
    stacks_.add_to(document);
    return document;
  }

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
  const Stacks& stacks_;
  const Origin& origin_;
  std::uint32_t number_;
  const Process& process_;
  std::int64_t start_, end_;  ///< Of the recording, nanoseconds since 1970.
};

}  // namespace

base::Outcome<std::vector<Document>> cut(const Recording& recording, const Origin& origin) {
  for (const auto& [what, name] : {std::pair("service", &origin.service),
                                   {"version", &origin.version},
                                   {"host", &origin.host}}) {
    if (const auto problem = problem_with_name(*name)) {
      return base::Failure{std::string("the ") + what + " cannot be named so: " + *problem};
    }
  }
  const Stacks stacks(recording);
  std::vector<Document> documents;
  for (std::uint32_t i = 0; i < recording.processes.size(); ++i) {
    if (recording.processes[i].is_imported) {
      return base::Failure{"profiles of other programs were not counted, and cannot be sent"};
    }
    Cutter(recording, stacks, origin, i).add_to(documents);
  }
  return documents;
}

}  // namespace geiger::fleet
