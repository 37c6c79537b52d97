// A recording that reads like a small server, for the tests of reports and exports.
#pragma once

#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "analysis/profile/recording/recording.h"

namespace geiger::profile::example {

/// Builds a recording step by step. Every method returns an index.
class RecordingBuilder {
 public:
  explicit RecordingBuilder(Bytes interval = 512 * kKiB) {
    recording_.epochs.push_back({interval, -std::log1p(-1.0 / static_cast<double>(interval))});
    interval_ = interval;
    recording_.is_symbolized = true;
  }

  std::uint32_t process(const std::string& executable, std::uint32_t pid) {
    Process process;
    process.executable = executable;
    process.trace_path = "geiger-test/" + std::to_string(pid) + ".geiger";
    process.allocator = "/lib/libc.so.6";
    process.pid = pid;
    process.parent_pid = 1;
    process.start = kStart;
    process.end = kStart + 2'500'000'000;
    process.start_realtime = 1'700'000'000'000'000'000;
    process.interval = interval_;
    process.ending = Ending::kExited;
    recording_.processes.push_back(process);
    return last(recording_.processes);
  }

  std::uint32_t thread(std::uint32_t process, const std::string& name, std::uint64_t tid) {
    Thread thread;
    thread.process = process;
    thread.name = name;
    thread.tid = tid;
    thread.start = kStart;
    recording_.threads.push_back(thread);
    return last(recording_.threads);
  }

  std::uint32_t module(const std::string& path, Address start) {
    recording_.modules.push_back({path, "00c0ffee", start, start + 0x10000, start});
    return last(recording_.modules);
  }

  /// A location in a module with one frame per name, inlined callee first.
  std::uint32_t location(std::uint32_t module, Address vaddr,
                         std::initializer_list<std::string> functions) {
    Location location;
    location.module = module;
    location.vaddr = vaddr;
    for (const std::string& function : functions) {
      recording_.frames.push_back(
          {function, "_Z" + function, "main.cc", static_cast<std::uint32_t>(vaddr)});
      location.frames.push_back(last(recording_.frames));
    }
    recording_.locations.push_back(location);
    return last(recording_.locations);
  }

  /// Leaf first.
  std::uint32_t stack(std::vector<std::uint32_t> locations, bool is_truncated = false) {
    recording_.stacks.push_back({std::move(locations), is_truncated});
    return last(recording_.stacks);
  }

  /// Times in milliseconds after the start; freed = 0: alive at the end.
  void sample(std::uint32_t thread, std::uint32_t stack, Bytes requested, Nanoseconds at_ms,
              Nanoseconds freed_ms = 0) {
    Sample sample;
    sample.thread = thread;
    sample.process = recording_.threads[thread].process;
    sample.stack = stack;
    sample.requested = requested;
    sample.usable = (requested + 15) / 16 * 16;
    sample.time = kStart + at_ms * 1'000'000;
    sample.free_time = freed_ms == 0 ? 0 : kStart + freed_ms * 1'000'000;
    sample.address = 0x7f0000000000 + recording_.samples.size() * 4096;
    sample.is_certain = requested >= interval_;
    sample.offset = offset_in(requested);
    recording_.samples.push_back(sample);
  }

  Recording& recording() { return recording_; }

 private:
  static constexpr Nanoseconds kStart = 1'000'000'000;

  template <typename Items>
  static std::uint32_t last(const Items& items) {
    return static_cast<std::uint32_t>(items.size() - 1);
  }

  /// Spread evenly, as a sampler spreads them below its interval: multiples of the
  /// golden section.
  [[nodiscard]] std::uint64_t offset_in(Bytes size) const {
    const double turns = 0.6180339887498949 * static_cast<double>(recording_.samples.size() + 1);
    return static_cast<std::uint64_t>((turns - std::floor(turns)) * static_cast<double>(size));
  }

  Recording recording_;
  Bytes interval_ = 0;
};

/// A small server: 240 samples of buffers, 12 of strings, one certain table.
///   main > serve > read_request > std::string::_M_create   (inlined into it: grow)
///   main > serve > make_buffer
///   main > load_table
inline Recording small_server() {
  RecordingBuilder builder;
  const auto process = builder.process("/usr/bin/server", 4711);
  const auto main_thread = builder.thread(process, "server", 4711);
  const auto worker = builder.thread(process, "worker", 4712);
  const auto server = builder.module("/usr/bin/server", 0x400000);
  const auto library = builder.module("/lib/libstdc++.so.6", 0x7f1000000000);
  const auto main = builder.location(server, 0x100, {"main"});
  const auto serve = builder.location(server, 0x200, {"serve(int)"});
  const auto read = builder.location(server, 0x300, {"grow", "read_request(Request&)"});
  const auto create = builder.location(library, 0x400, {"std::string::_M_create"});
  const auto buffer = builder.location(server, 0x500, {"make_buffer"});
  const auto load = builder.location(server, 0x600, {"load_table"});
  const auto strings = builder.stack({create, read, serve, main});
  const auto buffers = builder.stack({buffer, serve, main});
  const auto table = builder.stack({load, main});
  builder.sample(main_thread, table, 12 * kMiB, 1);
  for (Nanoseconds i = 0; i < 240; ++i) {
    builder.sample(worker, buffers, 64 * kKiB, 10 + i, i % 4 == 0 ? 0 : 400 + i);
  }
  for (Nanoseconds i = 0; i < 12; ++i) builder.sample(worker, strings, 200, 20 + i, 21 + i);
  Thread& counted = builder.recording().threads[worker];
  counted.bytes = 132 * kMiB;
  counted.trials = counted.bytes - 240 * (32 * kKiB);
  counted.hits = 252;
  Thread& loader = builder.recording().threads[main_thread];
  loader.bytes = loader.certain_bytes = 12 * kMiB;
  loader.certain_count = 1;
  return builder.recording();
}

}  // namespace geiger::profile::example
