#include "analysis/follow/naming.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "analysis/symbolize/frame_table.h"

namespace geiger::follow {
namespace {

/// Debug information of this many bytes is read in some tenths of a second.
constexpr Bytes kSmall = 32 * kMiB;

template <typename Result>
bool is_done(const std::future<Result>& future) {
  return future.valid() && future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

/// The futures wait for their threads.
Naming::~Naming() { stop_.request_stop(); }

void Naming::update(profile::Recording& recording) {
  for (Lane* lane : {&small_, &large_}) {
    if (is_done(lane->under_way)) take(recording, *lane);
  }
  sort_in(recording);
  start(recording, small_, std::numeric_limits<std::size_t>::max());
  start(recording, large_, 1);
}

void Naming::wait(NamesOf which, std::chrono::milliseconds most) const {
  constexpr std::chrono::milliseconds kLookAgain{5};
  const auto latest = std::chrono::steady_clock::now() + most;
  while (missing(which) > 0 && !is_ready() && std::chrono::steady_clock::now() < latest) {
    const Lane& lane = small_.under_way.valid() ? small_ : large_;
    lane.under_way.wait_for(std::min(most, kLookAgain));
  }
}

bool Naming::is_ready() const { return is_done(small_.under_way) || is_done(large_.under_way); }

/// Locations only grow, so those not sorted in yet stand at the end.
void Naming::sort_in(const profile::Recording& recording) {
  for (; looked_at_ < recording.locations.size(); ++looked_at_) {
    const profile::Location& location = recording.locations[looked_at_];
    if (!location.frames.empty()) continue;
    Lane& lane = lane_of(recording, location.module);
    lane.waiting[location.module].push_back(static_cast<std::uint32_t>(looked_at_));
    ++lane.missing;
  }
}

Naming::Lane& Naming::lane_of(const profile::Recording& recording, std::uint32_t index) {
  if (index >= recording.modules.size()) return small_;
  const auto [known, is_new] = is_large_.try_emplace(index, false);
  if (is_new) {
    const profile::Module& module = recording.modules[index];
    known->second = symbolize::bytes_to_read(module.path, module.build_id, {}) > kSmall;
  }
  return known->second ? large_ : small_;
}

/// So many modules at most: they get their names together.
void Naming::start(const profile::Recording& recording, Lane& lane, std::size_t modules) {
  if (lane.under_way.valid() || lane.waiting.empty()) return;
  Batch batch;
  for (; modules > 0 && !lane.waiting.empty(); --modules) {
    const auto first = lane.waiting.begin();
    for (const std::uint32_t location : first->second) {
      batch.locations.push_back(location);
      batch.recording.locations.push_back(recording.locations[location]);
    }
    lane.waiting.erase(first);
  }
  batch.recording.modules = recording.modules;
  batch.recording.processes = recording.processes;
  symbolize::Options options;
  options.stop = stop_.get_token();
  lane.under_way = std::async(std::launch::async, [batch = std::move(batch), options]() mutable {
    static_cast<void>(symbolize::symbolize(batch.recording, options));
    return std::move(batch);
  });
}

void Naming::take(profile::Recording& recording, Lane& lane) {
  const Batch batch = lane.under_way.get();
  symbolize::FrameTable table(recording);
  for (std::size_t i = 0; i < batch.locations.size(); ++i) {
    auto& frames = recording.locations[batch.locations[i]].frames;
    for (const std::uint32_t frame : batch.recording.locations[i].frames) {
      frames.push_back(table.add(batch.recording.frames[frame]));
    }
  }
  lane.missing -= batch.locations.size();
}

}  // namespace geiger::follow
