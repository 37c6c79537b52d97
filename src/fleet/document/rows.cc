#include "fleet/document/rows.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "fleet/document/ids.h"
#include "fleet/document/limits.h"

namespace geiger::fleet {
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
