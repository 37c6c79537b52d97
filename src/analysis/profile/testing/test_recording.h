// For tests only: recordings made by hand.
#pragma once

#include <string>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "estimation/sums.h"

namespace geiger::profile {

/// One process, one module, one interval; locations are named functions.
class TestRecording {
 public:
  explicit TestRecording(Bytes interval = 1024) {
    recording.modules.push_back({"/usr/bin/target", "ab12", 0x1000, 0x9000, 0});
    add_process(interval);
  }

  std::uint32_t add_process(Bytes interval = 1024) {
    Process process;
    process.pid = 100 + static_cast<std::uint32_t>(recording.processes.size());
    process.seed = process.pid;
    process.start = 1000;
    process.interval = interval;
    process.ending = Ending::kExited;
    recording.processes.push_back(process);
    recording.epochs.push_back(
        {interval, estimation::rate_of_interval(static_cast<double>(interval))});
    return static_cast<std::uint32_t>(recording.processes.size() - 1);
  }

  std::uint32_t frame(const std::string& function) {
    recording.frames.push_back({function, {}, {}, 0});
    return static_cast<std::uint32_t>(recording.frames.size() - 1);
  }

  /// A location with one frame per name, inlined callee first; none: no symbol.
  std::uint32_t location(const std::vector<std::string>& functions, std::uint32_t module = 0) {
    Location location;
    location.module = module;
    location.vaddr = 0x1000 + 0x10 * recording.locations.size();
    for (const std::string& function : functions) location.frames.push_back(frame(function));
    recording.locations.push_back(location);
    return static_cast<std::uint32_t>(recording.locations.size() - 1);
  }

  std::uint32_t stack(std::vector<std::uint32_t> locations, bool is_truncated = false) {
    recording.stacks.push_back({std::move(locations), is_truncated});
    return static_cast<std::uint32_t>(recording.stacks.size() - 1);
  }

  Sample& sample(std::uint32_t stack, Bytes requested, Nanoseconds time = 2000,
                 Nanoseconds free_time = 0) {
    Sample sample;
    sample.stack = stack;
    sample.requested = requested;
    sample.usable = requested;
    sample.time = time;
    sample.free_time = free_time;
    sample.address = 0x10000 + 64 * recording.samples.size();
    recording.samples.push_back(sample);
    return recording.samples.back();
  }

  Recording recording;
};

}  // namespace geiger::profile
