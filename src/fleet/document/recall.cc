#include "fleet/document/recall.h"

#include <utility>

#include "base/check.h"
#include "base/index_of.h"
#include "estimation/sums.h"

namespace geiger::fleet {

using profile::kNone;

namespace {
constexpr std::string_view kUnknownStack = "[stack not sent yet]";
}

Recall::Recall(profile::Kind kind) : kind_(kind), interner_(recording_) {
  GEIGER_CHECK(kind == profile::Kind::kAllocated || kind == profile::Kind::kLiveAtEnd);
}

void Recall::add_host(const HostSums& host) {
  host_ = host;
  processes_.clear();
  const std::uint32_t process = process_of(0);
  profile::Process& first = recording_.processes[process];
  first.drops[static_cast<std::size_t>(vocabulary::DropCause::kTraceFull)] = host.dropped;
  // Includes intervals that drew nothing, because they could have.
  interner_.epoch(host.interval, estimation::rate_of_interval(static_cast<double>(host.interval)));
  if (host.thinning > 0) static_cast<void>(process_of(host.thinning));
  profile::Thread total;
  total.process = process;
  total.bytes = host.exact_bytes;
  total.armed = host.unsettled_bytes;
  recording_.threads.push_back(total);
  is_counted_ = is_counted_ && host.without_total == 0;
}

std::uint32_t Recall::process_of(std::uint32_t thinning) {
  const auto next = static_cast<std::uint32_t>(recording_.processes.size());
  const auto [place, is_new] = processes_.try_emplace(thinning, next);
  if (!is_new) return place->second;
  profile::Process& process = recording_.processes.emplace_back();
  process.executable = host_.executable;
  process.started_as = host_.host;
  process.is_pure = host_.has_pure;
  process.is_attached = !host_.is_from_start;
  process.interval = host_.interval;
  process.thinning = thinning;
  process.is_aggregated = true;
  process.ending = profile::Ending::kExited;
  return next;
}

std::uint32_t Recall::place_of(StackId stack) { return base::index_of(references_, stack, ids_); }

profile::Tally& Recall::tally_of(const SummedRow& row, std::uint64_t count) {
  GEIGER_CHECK(!recording_.processes.empty());
  profile::Tally& tally = recording_.tallies.emplace_back();
  tally.allocated = count;
  tally.alike.process = process_of(row.thinning);
  tally.alike.stack = place_of(row.stack);  // finish() makes it an index.
  tally.alike.requested = tally.alike.usable = row.size;
  tally.alike.is_certain = row.is_certain;
  tally.alike.epoch = interner_.epoch(
      row.interval, estimation::rate_of_interval(static_cast<double>(row.interval)));
  return tally;
}

void Recall::add(const SummedRow& row) {
  if (const std::uint64_t count = count_of(row, kind_); count != 0) tally_of(row, count);
}

void Recall::add_both(const CountRow& row) {
  const SummedRow alike{row.stack, row.size, row.interval, row.thinning, row.is_certain, 0, 0};
  if (row.allocated != 0) tally_of(alike, row.allocated).is_tracked = false;
  // Not allocated in the window, as far as this tally says.
  if (row.live != 0) tally_of(alike, row.live).alike.seen_from = 1;
}

std::vector<StackId> Recall::missing_stacks() const {
  std::vector<StackId> missing;
  for (const StackId id : ids_) {
    if (!stacks_.contains(id)) missing.push_back(id);
  }
  return missing;
}

void Recall::add_location(const Location& location) {
  const auto [place, is_new] = locations_.try_emplace(location.id, 0);
  if (!is_new) return;
  if (location.kind == profile::ModuleKind::kSource && !location.frames.empty()) {
    profile::Frame line = location.frames.front();
    line.file = location.module;
    place->second = interner_.source_line(line, 0);
    return;
  }
  if (location.module.empty()) {
    // Points outside every module are distinguished by their names, not by their addresses.
    place->second = static_cast<std::uint32_t>(recording_.locations.size());
    recording_.locations.push_back({kNone, location.address, 0, {}});
  } else {
    profile::Module module;
    module.path = location.module;
    module.build_id = location.build_id;
    module.kind = location.kind;
    place->second = interner_.location(interner_.module(module), location.address, 0);
  }
  for (const profile::Frame& frame : location.frames) {
    recording_.locations[place->second].frames.push_back(
        static_cast<std::uint32_t>(recording_.frames.size()));
    recording_.frames.push_back(frame);
  }
}

void Recall::add_stack(const Stack& stack) {
  const auto [place, is_new] = stacks_.try_emplace(stack.id, kNone);
  if (!is_new || (stack.locations.empty() && !stack.is_truncated)) return;
  profile::Stack known;
  known.is_truncated = stack.is_truncated;
  for (const LocationId location : stack.locations) {
    known.locations.push_back(locations_.at(location));
  }
  place->second = interner_.stack(known);
}

profile::Recording Recall::finish() {
  for (const StackId id : missing_stacks()) {
    Stack unknown;
    unknown.id = id;
    unknown.is_truncated = true;  // Any function may have called it.
    Location nowhere;
    nowhere.frames.push_back({std::string(kUnknownStack), "", "", 0});
    add_location(nowhere);
    unknown.locations.push_back(nowhere.id);
    add_stack(unknown);
  }
  for (profile::Tally& tally : recording_.tallies) {
    tally.alike.stack = stacks_.at(ids_[tally.alike.stack]);
  }
  if (!is_counted_) recording_.threads.clear();
  return std::move(recording_);
}

profile::Recording recording_of(const Document& document) {
  const Window& window = document.window;
  Recall recall(profile::Kind::kAllocated);
  HostSums host;
  host.host = window.key.host;
  host.executable = window.executable;
  host.exact_bytes = window.exact_bytes.value_or(0);
  host.without_total = window.exact_bytes ? 0 : 1;
  host.unsettled_bytes = window.unsettled_bytes;
  host.interval = window.interval;
  host.thinning = window.thinning;
  host.dropped = window.dropped;
  host.has_pure = window.is_pure;
  host.is_from_start = window.is_from_start;
  recall.add_host(host);
  for (const CountRow& row : document.counts) recall.add_both(row);
  for (const Location& location : document.locations) recall.add_location(location);
  for (const Stack& stack : document.stacks) recall.add_stack(stack);
  return recall.finish();
}

}  // namespace geiger::fleet
