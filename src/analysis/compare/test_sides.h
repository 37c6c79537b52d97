// For tests only: sides made of recordings whose sites are named with their samples.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "analysis/compare/comparison.h"
#include "analysis/profile/testing/test_recording.h"

namespace geiger::compare {

/// Samples of 16 bytes at a site, each of which stands for about the interval.
using Sampled = std::pair<std::string, int>;

inline constexpr Bytes kTestInterval = 1024;

/// A run whose every site is a function called by main. Its counted bytes are the
/// samples times the interval.
inline profile::TestRecording run_with(const std::vector<Sampled>& sites,
                                       Bytes interval = kTestInterval) {
  profile::TestRecording test(interval);
  profile::Thread& thread = test.recording.threads.emplace_back();
  const auto main = test.location({"main"});
  for (const auto& [name, count] : sites) {
    const auto stack = test.stack({test.location({name}), main});
    for (int i = 0; i < count; ++i) test.sample(stack, 16);
    thread.bytes += static_cast<Bytes>(count) * interval;
  }
  return test;
}

/// Collects runs on both sides.
inline Collected collect_runs(const std::vector<profile::TestRecording>& before,
                              const std::vector<profile::TestRecording>& after,
                              profile::Kind kind = profile::Kind::kAllocated,
                              const std::vector<Pattern>& patterns = {},
                              const Grouping& grouping = {}) {
  Collector collector(kind, grouping, patterns);
  for (const auto& run : before) {
    (void)collector.add(Which::kBefore, run.recording, profile::select(run.recording, kind));
  }
  for (const auto& run : after) {
    (void)collector.add(Which::kAfter, run.recording, profile::select(run.recording, kind));
  }
  return collector.finish();
}

inline const Row& row(const Comparison& comparison, const std::string& name) {
  for (const Row& row : comparison.rows) {
    if (comparison.collected.sites[row.site].name == name) return row;
  }
  ADD_FAILURE() << "no site " << name;
  return comparison.total;
}

}  // namespace geiger::compare
