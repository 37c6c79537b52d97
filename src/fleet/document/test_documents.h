// For tests only: documents of a process that lasts three windows.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "analysis/profile/testing/test_recording.h"
#include "fleet/document/cut.h"

namespace geiger::fleet {

inline constexpr Nanoseconds kSecond = 1'000'000'000;
/// A multiple of the grid, and the process starts 100 s later.
inline constexpr std::int64_t kMidnight = 1'700'000'400 / kGrid * kGrid;
inline const Origin kOrigin{"shop", "1.0", "web-1", {{"zone", "b"}}};

/// A process of 1,500 s with random objects: windows of 500, 600 and 400 s.
inline profile::Recording random_recording(std::uint64_t seed, int objects = 2000) {
  profile::TestRecording test(4096);
  profile::Process& process = test.recording.processes[0];
  process.start = 50 * kSecond;
  process.start_realtime = static_cast<Nanoseconds>(kMidnight + 100) * kSecond;
  process.end = process.start + 1500 * kSecond;
  test.recording.threads.emplace_back().bytes = 123'456;
  std::mt19937_64 random(seed);
  const auto main = test.location({"main"});
  std::vector<std::uint32_t> stacks;
  for (int i = 0; i < 20; ++i) stacks.push_back(test.stack({test.location({}), main}, i == 7));
  for (int i = 0; i < objects; ++i) {
    const Nanoseconds time = process.start + random() % (1500 * kSecond);
    const Nanoseconds end = time + random() % (1000 * kSecond);
    profile::Sample& sample = test.sample(stacks[random() % stacks.size()], 16 << random() % 12,
                                          time, end < process.end ? end : 0);
    sample.is_certain = sample.requested >= 4096;
  }
  return test.recording;
}

inline std::vector<Document> documents_of(const profile::Recording& recording,
                                          const Origin& origin = kOrigin) {
  auto documents = cut(recording, origin);
  EXPECT_TRUE(documents.has_value()) << documents.reason();
  EXPECT_TRUE(documents->left_out.empty());
  return std::move(documents->documents);
}

}  // namespace geiger::fleet
