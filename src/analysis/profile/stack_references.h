// Everything in a recording that has a stack.
#pragma once

#include "analysis/profile/recording.h"

namespace geiger::profile {

/// Calls visit(stack, process) with each reference to a stack, those to none included.
template <typename Recorded, typename Visit>
void for_each_stack(Recorded& recording, const Visit& visit) {
  for (auto* samples : {&recording.samples, &recording.heap_samples}) {
    for (auto& sample : *samples) {
      visit(sample.stack, sample.process);
      visit(sample.free_stack, sample.process);
    }
  }
  for (auto& tally : recording.tallies) visit(tally.alike.stack, tally.alike.process);
  for (auto& event : recording.mappings) visit(event.stack, event.process);
  for (auto& fault : recording.faults) {
    for (auto* stack : {&fault.stack, &fault.allocated.stack, &fault.freed.stack}) {
      visit(*stack, fault.process);
    }
  }
}

}  // namespace geiger::profile
