// For tests only: recordings as a right sampler draws them, with totals that fit.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "analysis/profile/recording/recording.h"
#include "estimation/sums.h"

namespace geiger::profile {

/// Threads allocate objects of 16 bytes to 2/3 of T in turn until they have as many
/// samples as requested, and settle there.
class DrawnRecording {
 public:
  explicit DrawnRecording(Bytes interval, std::uint64_t seed = 1)
      : interval_(interval),
        lambda_(estimation::rate_of_interval(static_cast<double>(interval))),
        generator_(seed) {
    recording.epochs.push_back({interval, lambda_});
    recording.stacks.emplace_back();
    recording.is_symbolized = true;
  }

  /// Adds a process that exited.
  std::uint32_t process() {
    Process process;
    process.pid = 100 + static_cast<std::uint32_t>(recording.processes.size());
    process.executable = "/usr/bin/drawn";
    process.trace_path = "run/" + std::to_string(process.pid) + ".geiger";
    process.seed = process.pid;
    process.start = 1'000'000'000;
    process.end = process.start + 1'000'000'000;
    process.interval = interval_;
    process.ending = Ending::kExited;
    recording.processes.push_back(process);
    return static_cast<std::uint32_t>(recording.processes.size() - 1);
  }

  /// A new process with `count` threads of `samples` samples each.
  DrawnRecording& threads(int count, std::uint64_t samples) {
    const std::uint32_t owner = process();
    for (int i = 0; i < count; ++i) thread(owner, samples);
    return *this;
  }

  void thread(std::uint32_t owner, std::uint64_t samples) {
    Thread& thread = add_thread(owner);
    const auto index = static_cast<std::uint32_t>(recording.threads.size() - 1);
    std::uint64_t skip = draw();
    for (std::uint64_t i = 0; thread.hits < samples; ++i) {
      const Bytes size = size_of(i);
      thread.bytes += size;
      thread.trials += std::min(skip + 1, size);
      if (skip >= size) {
        skip -= size;
        continue;
      }
      ++thread.hits;
      thread.tail_bytes += size - skip - 1;
      add_sample(owner, index, size, skip);
      skip = draw();
    }
  }

  /// A thread of one process once more, in another one: same draws.
  void copy_thread(std::uint32_t original, std::uint32_t owner) {
    Thread copy = recording.threads[original];
    copy.process = owner;
    recording.threads.push_back(copy);
    const auto index = static_cast<std::uint32_t>(recording.threads.size() - 1);
    const auto samples = recording.samples;
    for (const Sample& sample : samples) {
      if (sample.thread == original) add_sample(owner, index, sample.requested, sample.offset);
    }
  }

  /// One sample in the last thread of the process, which must be the newest.
  void sample_at(std::uint32_t owner, Bytes size, std::uint64_t offset) {
    if (recording.threads.empty() || recording.threads.back().process != owner) add_thread(owner);
    Thread& thread = recording.threads.back();
    thread.bytes += size;
    thread.trials += offset + 1;
    ++thread.hits;
    add_sample(owner, static_cast<std::uint32_t>(recording.threads.size() - 1), size, offset);
  }

  Recording recording;

 private:
  Thread& add_thread(std::uint32_t owner) {
    Thread thread;
    thread.process = owner;
    thread.tid = 1000 + recording.threads.size();
    thread.start = recording.processes[owner].start;
    thread.end = recording.processes[owner].end;
    recording.threads.push_back(thread);
    return recording.threads.back();
  }

  void add_sample(std::uint32_t owner, std::uint32_t thread, Bytes size, std::uint64_t offset) {
    Sample sample;
    sample.process = owner;
    sample.thread = thread;
    sample.stack = 0;
    sample.time = recording.processes[owner].start + recording.samples.size();
    sample.requested = sample.usable = size;
    sample.offset = offset;
    recording.samples.push_back(sample);
  }

  [[nodiscard]] Bytes size_of(std::uint64_t i) const {
    return i % 8 == 7 ? std::max<Bytes>(16, interval_ * 2 / 3) : 16 + 24 * (i % 7);
  }

  std::uint64_t draw() {
    const double u = static_cast<double>((generator_() >> 11) + 1) * 0x1p-53;
    return static_cast<std::uint64_t>(-std::log(u) / lambda_);
  }

  Bytes interval_;
  double lambda_;
  std::mt19937_64 generator_;
};

}  // namespace geiger::profile
