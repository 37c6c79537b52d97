#include "analysis/follow/naming.h"

#include <chrono>
#include <utility>

#include "analysis/symbolize/frame_table.h"
#include "analysis/symbolize/symbolize.h"

namespace geiger::follow {

void Naming::update(profile::Recording& recording) {
  if (under_way_.valid()) {
    if (under_way_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    take(recording, under_way_.get());
  }
  start(recording);
}

bool Naming::wait() {
  if (!under_way_.valid()) return false;
  under_way_.wait();
  return true;
}

/// Locations only grow, so those of no batch yet stand at the end.
void Naming::start(const profile::Recording& recording) {
  Batch batch;
  for (; looked_at_ < recording.locations.size(); ++looked_at_) {
    const profile::Location& location = recording.locations[looked_at_];
    if (!location.frames.empty()) continue;
    batch.locations.push_back(static_cast<std::uint32_t>(looked_at_));
    batch.recording.locations.push_back(location);
  }
  if (batch.locations.empty()) return;
  batch.recording.modules = recording.modules;
  batch.recording.processes = recording.processes;
  under_way_ = std::async(std::launch::async, [batch = std::move(batch)]() mutable {
    static_cast<void>(symbolize::symbolize(batch.recording, {}));
    return std::move(batch);
  });
}

void Naming::take(profile::Recording& recording, Batch batch) {
  symbolize::FrameTable table(recording);
  for (std::size_t i = 0; i < batch.locations.size(); ++i) {
    auto& frames = recording.locations[batch.locations[i]].frames;
    for (const std::uint32_t frame : batch.recording.locations[i].frames) {
      frames.push_back(table.add(batch.recording.frames[frame]));
    }
  }
}

}  // namespace geiger::follow
