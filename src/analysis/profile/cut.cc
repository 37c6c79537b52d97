#include "analysis/profile/cut.h"

#include <algorithm>
#include <vector>

namespace geiger::profile {

void cut_at(Recording& recording, Nanoseconds instant) {
  cut_at(recording, std::vector<Nanoseconds>(recording.processes.size(), instant));
}

void cut_at(Recording& recording, std::span<const Nanoseconds> instants) {
  const auto is_later = [&](const auto& event) { return event.time >= instants[event.process]; };
  for (std::vector<Sample>* samples : {&recording.samples, &recording.heap_samples}) {
    std::erase_if(*samples, is_later);
    for (Sample& sample : *samples) {
      if (sample.free_time < instants[sample.process]) continue;
      sample.free_time = 0;
      sample.free_thread = sample.free_stack = kNone;
      sample.free_unseen = false;
    }
  }
  std::erase_if(recording.mappings, is_later);
  std::erase_if(recording.marks, is_later);
  std::erase_if(recording.faults, is_later);
  recording.utilization.clear();
  recording.residency_answers.clear();
  for (std::size_t i = 0; i < recording.processes.size(); ++i) {
    Process& process = recording.processes[i];
    process.end = std::max(process.start, std::min(process.end, instants[i]));
  }
}

}  // namespace geiger::profile
