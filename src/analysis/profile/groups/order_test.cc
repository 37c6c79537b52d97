// Traces read in different orders: every number of every view must have the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "analysis/profile/groups/view.h"
#include "analysis/profile/testing/test_recording.h"

namespace geiger::profile::order_test {
namespace {

using estimation::NodeSums;

constexpr std::size_t kProcesses = 7;
constexpr std::size_t kFunctions = 12;
constexpr std::size_t kSamples = 600;  // Per process.

/// What was recorded, before it was read: the samples of each process with the functions of their
/// stacks, leaf first.
struct Recorded {
  struct Sampled {
    std::vector<std::uint32_t> functions;
    Bytes size;
    Nanoseconds time, free_time;
    std::uint64_t offset;
    bool is_certain;
  };
  std::vector<std::vector<Sampled>> processes;
};

Recorded record(std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<std::vector<std::uint32_t>> stacks(60);
  for (auto& stack : stacks) {
    stack.resize(generator() % 6);
    for (std::uint32_t& function : stack) {
      function = static_cast<std::uint32_t>(generator() % kFunctions);
    }
  }
  Recorded recorded;
  recorded.processes.resize(kProcesses);
  for (auto& process : recorded.processes) {
    for (std::size_t i = 0; i < kSamples; ++i) {
      const Bytes size = 1 + generator() % 1500;
      const Nanoseconds time = 2000 + i;
      process.push_back({stacks[generator() % stacks.size()], size, time,
                         generator() % 2 == 0 ? 0 : time + generator() % 300, generator() % size,
                         size > 1024});
    }
  }
  return recorded;
}

/// Reads the processes in an order; stacks get their numbers as they come.
Recording read(const Recorded& recorded, const std::vector<std::size_t>& order) {
  TestRecording test;
  test.recording.processes.clear();
  test.recording.epochs.clear();
  test.recording.labels = {{"request", kNone}, {"tenant", 0}, {"parse", 1}};
  for (std::size_t i = 0; i < kFunctions; ++i) {
    test.location(i % 4 == 0 ? std::vector<std::string>{}
                             : std::vector<std::string>{"f" + std::to_string(i % 9)});
  }
  std::vector<std::vector<std::uint32_t>> known;
  for (const std::size_t process : order) {
    // Intervals differ, and so does E.
    const std::uint32_t index = test.add_process(Bytes{1024} << (process % 3));
    test.recording.processes[index].seed = process;
    test.recording.processes[index].end = 2000 + kSamples + 300;
    test.recording.processes[index].pid = 100 + static_cast<std::uint32_t>(process);
    test.recording.threads.push_back(
        {.process = index, .tid = process, .name = "t" + std::to_string(process % 3)});
    for (const auto& sampled : recorded.processes[process]) {
      const auto place = std::ranges::find(known, sampled.functions);
      const auto stack = static_cast<std::uint32_t>(place - known.begin());
      if (place == known.end()) {
        known.push_back(sampled.functions);
        test.stack(sampled.functions, sampled.functions.size() > 4);
      }
      Sample& sample = test.sample(stack, sampled.size, sampled.time, sampled.free_time);
      sample.process = index;
      sample.epoch = index;
      sample.thread = index;
      sample.label = static_cast<std::uint32_t>(sampled.size % 4);
      if (sample.label == 3) sample.label = kNone;
      sample.offset = sampled.offset;
      sample.is_certain = sampled.is_certain;
    }
  }
  return test.recording;
}

struct Line {
  std::string name, detail;
  NodeSums self, total;
  friend bool operator==(const Line&, const Line&) = default;  // Doubles without NaN: bits.
};

std::vector<Line> lines_of(const std::vector<Row>& rows) {
  std::vector<Line> lines;
  lines.reserve(rows.size());
  for (const Row& row : rows) lines.push_back({row.name, row.detail, row.self, row.total});
  return lines;
}

void walk(const Tree& tree, std::uint32_t node, std::size_t depth, std::vector<Line>& lines) {
  const TreeNode& at = tree.nodes[node];
  lines.push_back({at.name, std::string(depth, ' '), at.self, at.total});
  for (const std::uint32_t child : at.children) walk(tree, child, depth + 1, lines);
}

/// Every number of every view of a profile.
std::vector<Line> everything(const Recording& recording, Kind kind) {
  const Profile profile = select(recording, kind);
  std::vector<Line> all{{"total", {}, {}, total(recording, profile)}};
  for (const GroupBy group :
       {GroupBy::kFunction, GroupBy::kStack, GroupBy::kModule, GroupBy::kThread, GroupBy::kTid,
        GroupBy::kSize, GroupBy::kType, GroupBy::kLabel}) {
    const std::vector<Line> lines = lines_of(table(recording, profile, group));
    all.insert(all.end(), lines.begin(), lines.end());
  }
  for (const bool inverted : {false, true}) walk(tree(recording, profile, inverted), 0, 0, all);
  return all;
}

TEST(OrderOfReading, ChangesNoBit) {
  const Recorded recorded = record(1);
  std::vector<std::size_t> order(kProcesses);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (const Kind kind : {Kind::kAllocated, Kind::kLiveAtEnd, Kind::kLiveAtPeak}) {
    const std::vector<Line> expected = everything(read(recorded, order), kind);
    ASSERT_GT(expected.size(), 100U);
    std::mt19937_64 generator(2);
    for (int i = 0; i < 10; ++i) {
      std::vector<std::size_t> other = order;
      std::ranges::shuffle(other, generator);
      const std::vector<Line> lines = everything(read(recorded, other), kind);
      ASSERT_EQ(lines.size(), expected.size());
      for (std::size_t line = 0; line < lines.size(); ++line) {
        ASSERT_TRUE(lines[line] == expected[line]) << name_of(kind) << " " << lines[line].name;
      }
    }
  }
}

}  // namespace
}  // namespace geiger::profile::order_test
