#include "run/malloc_pairs.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace geiger::run {
namespace {

TEST(MallocPairs, AreWrittenBySizeWithTheirLimits) {
  const std::string file = std::filesystem::path(testing::TempDir()) / "geiger-malloc-pairs-test";
  ASSERT_TRUE(write_pair_times(file).has_value());
  std::ifstream in(file);
  std::size_t sizes = 0;
  double bytes = 0, usual = 0, least = 0, most = 0, last = 0;
  for (; in >> bytes >> usual >> least >> most; last = bytes, ++sizes) {
    EXPECT_GT(bytes, last);
    EXPECT_LE(least, usual);
    EXPECT_LE(usual, most);
  }
  EXPECT_EQ(sizes, 10U);
  std::remove(file.c_str());
}

TEST(MallocPairs, OfAnAllocatorThatIsNotKnownAreNot) {
  EXPECT_EQ(time_pairs("").fault, "its allocator is not known");
  EXPECT_FALSE(time_pairs("/nowhere/libmalloc.so").is_known());
}

}  // namespace
}  // namespace geiger::run
