#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <type_traits>

#include "sampling/samplers.h"

namespace geiger::sampling::prng_test {
namespace {

TEST(Xoshiro256pp, GivesTheReferenceSequences) {
  const auto vectors =
      nlohmann::json::parse(std::ifstream(GEIGER_SOURCE_DIR "/tests/vectors/statistics.json"));
  for (const auto& [seed, outputs] : vectors["xoshiro256pp_seeded_by_splitmix64"].items()) {
    Xoshiro256pp generator(std::stoull(seed));
    for (const auto& output : outputs) {
      EXPECT_EQ(generator.next(), std::stoull(output.get<std::string>())) << "seed " << seed;
    }
  }
}

TEST(Xoshiro256pp, RunsAtCompileTimeAndZeroInitialises) {
  constexpr std::uint64_t kFirst = Xoshiro256pp(1).next();
  EXPECT_EQ(kFirst, 14971601782005023387U);
  static constinit Xoshiro256pp zero;
  EXPECT_EQ(zero.next(), 0U);  // The state that never moves.
  static_assert(std::is_trivially_copyable_v<Xoshiro256pp>);
}

// Catches seeds made by adding or xor-ing: neighbours must share nothing.
TEST(ThreadSeed, IsDistinctOverThreadsAndNeighbouringProcesses) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t process = 0; process < 50; ++process) {
    for (std::uint64_t thread = 0; thread < 1000; ++thread) {
      seen.insert(thread_seed(process, thread));
    }
  }
  EXPECT_EQ(seen.size(), 50000U);
}

// Streams of neighbouring threads agree in half of their bits: in 32,000 +- 126 (one sigma) of
// 64,000; 6 sigma have probability 2e-9.
TEST(ThreadSeed, NeighboursDrawUnrelatedStreams) {
  for (std::uint64_t thread = 0; thread < 20; ++thread) {
    Xoshiro256pp one(thread_seed(7, thread));
    Xoshiro256pp other(thread_seed(7, thread + 1));
    int agreements = 0;
    for (int i = 0; i < 1000; ++i) agreements += std::popcount(~(one.next() ^ other.next()));
    EXPECT_NEAR(agreements, 32000, 6 * 126.5);
  }
}

}  // namespace
}  // namespace geiger::sampling::prng_test
