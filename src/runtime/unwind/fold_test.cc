#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>
#include <vector>

#include "runtime/unwind/unwind.h"

namespace geiger::unwind {
namespace {

using Frames = std::vector<std::uint64_t>;

Frames folded(Frames frames) {
  frames.resize(fold(frames.data(), frames.size()));
  return frames;
}

TEST(Fold, KeepsTwoRoundsOfACycle) {
  EXPECT_EQ(folded({}), Frames());
  EXPECT_EQ(folded({1, 2, 2, 3}), (Frames{1, 2, 2, 3}));
  EXPECT_EQ(folded({1, 2, 2, 2, 2, 2, 3}), (Frames{1, 2, 2, 3}));
  EXPECT_EQ(folded({9, 1, 2, 1, 2, 1, 2, 1, 3}), (Frames{9, 1, 2, 1, 2, 1, 3}));
  EXPECT_EQ(folded({1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
            (Frames{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Fold, FindsCyclesOfFoldedOnes) {
  Frames frames;
  for (std::uint64_t i = 0; i < 100; ++i) frames.insert(frames.end(), {1, 1, 1, 1, 2, 3});
  EXPECT_EQ(folded(frames), (Frames{1, 1, 2, 3, 1, 1, 2, 3}));
}

std::set<std::pair<std::uint64_t, std::uint64_t>> calls_of(const Frames& frames) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> calls;
  for (std::size_t i = 1; i < frames.size(); ++i) calls.emplace(frames[i], frames[i - 1]);
  return calls;
}

// Of two or three frames, so that cycles of any kind arise.
TEST(Fold, LosesNoCallAndNoEnd) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 4'000; ++i) {
    Frames frames;
    const std::uint64_t kinds = 2 + random() % 2;
    for (std::uint64_t length = 1 + random() % 60; length > 0; --length) {
      frames.push_back(random() % kinds);
    }
    const Frames less = folded(frames);
    EXPECT_EQ(calls_of(less), calls_of(frames));
    EXPECT_EQ(less.front(), frames.front());
    EXPECT_EQ(less.back(), frames.back());
    EXPECT_LE(less.size(), frames.size());
  }
}

}  // namespace
}  // namespace geiger::unwind
