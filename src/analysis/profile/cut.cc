#include "analysis/profile/cut.h"

#include <algorithm>

namespace geiger::profile {

void cut_at(Recording& recording, Nanoseconds instant) {
  for (std::vector<Sample>* samples : {&recording.samples, &recording.heap_samples}) {
    std::erase_if(*samples, [&](const Sample& sample) { return sample.time >= instant; });
    for (Sample& sample : *samples) {
      if (sample.free_time < instant) continue;
      sample.free_time = 0;
      sample.free_thread = sample.free_stack = kNone;
      sample.free_unseen = false;
    }
  }
  std::erase_if(recording.mappings, [&](const MappingEvent& e) { return e.time >= instant; });
  std::erase_if(recording.marks, [&](const Mark& mark) { return mark.time >= instant; });
  recording.utilization.clear();
  recording.residency_answers.clear();
  for (Process& process : recording.processes) {
    process.end = std::max(process.start, std::min(process.end, instant));
  }
}

}  // namespace geiger::profile
