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

void Recall::add(const SummedRow& row) {
  GEIGER_CHECK(!recording_.processes.empty());
  const std::uint64_t count = count_of(row, kind_);
  if (count == 0) return;
  profile::Tally& tally = recording_.tallies.emplace_back();
  tally.allocated = count;
  tally.alike.process = process_of(row.thinning);
  tally.alike.stack = place_of(row.stack);  // finish() makes it an index.
  tally.alike.requested = tally.alike.usable = row.size;
  tally.alike.is_certain = row.is_certain;
  tally.alike.epoch = interner_.epoch(
      row.interval, estimation::rate_of_interval(static_cast<double>(row.interval)));
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

}  // namespace geiger::fleet
