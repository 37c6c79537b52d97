#include "runtime/unwind/rules.h"

#include <gtest/gtest.h>

#include <random>

namespace geiger::unwind {
namespace {

constexpr std::uint64_t kPcs = 1000;

/// In 4 MiB of code.
std::uint64_t pc_number(std::uint64_t i) {
  return 0x55e0'1234'0000 + (std::mt19937_64(i)() & 0x3f'ffff);
}
Rule rule_number(std::uint64_t i) { return Rule(i << 45 | 1); }

bool holds(const RuleCache& cache, std::uint64_t i) {
  Rule rule;
  return cache.find(pc_number(i), rule) && rule.bits() == rule_number(i).bits();
}

TEST(RuleCache, HoldsNothingAtFirst) {
  static constinit RuleCache cache{};
  Rule rule;
  EXPECT_FALSE(cache.find(pc_number(1), rule));
}

// Few pcs evict each other from their pairs; without the move all of the first 256 would be gone.
TEST(RuleCache, TakesItsRulesAlongWhenItGrows) {
  static constinit RuleCache cache{};
  for (std::uint64_t i = 0; i < kPcs; ++i) {
    cache.store(pc_number(i), rule_number(i));
    EXPECT_TRUE(holds(cache, i)) << i;
  }
  std::uint64_t held = 0;
  for (std::uint64_t i = 0; i < kPcs; ++i) held += holds(cache, i) ? 1 : 0;
  EXPECT_GE(held, kPcs - 20);
}

TEST(RuleCache, GrowsForFewThatDriveEachOtherOut) {
  static constinit RuleCache cache{};
  // In one pair of the small cache, but some in different pairs of the large one.
  std::uint64_t pcs[4];
  std::size_t found = 0;
  for (std::uint64_t i = 1; found < 4; ++i) {
    const std::uint64_t place = pc_number(i) * 0x9e3779b97f4a7c15U >> 51;
    if ((place & 1022) == 0) pcs[found++] = pc_number(i);
  }
  std::uint64_t misses = 0;
  for (int round = 0; round < 1000; ++round) {
    for (const std::uint64_t pc : pcs) {
      Rule rule;
      if (cache.find(pc, rule)) continue;
      ++misses;
      cache.store(pc, rule_number(1));
    }
  }
  EXPECT_GE(misses, 256U);
  EXPECT_LE(misses, 300U);
}

}  // namespace
}  // namespace geiger::unwind
