#include "analysis/content/contents.h"

#include <gtest/gtest.h>

namespace geiger::content {
namespace {

TEST(Contents, EqualOnesAreOne) {
  Contents contents;
  const auto a = contents.add({1, 64}, 61, 10);
  EXPECT_EQ(contents.add({1, 64}, 61, 10), a);
  EXPECT_NE(contents.add({1, 64}, 61, 11), a);
  EXPECT_NE(contents.add({1, 80}, 61, 10), a);
  EXPECT_NE(contents.add({2, 64}, 61, 10), a);
}

TEST(Contents, BlocksAreComparedBySizeAndHash) {
  Contents contents;
  const auto a = contents.add({1, 64}, 61, 10), b = contents.add({1, 64}, 61, 11),
             shorter = contents.add({1, 64}, 57, 12), other = contents.add({1, 80}, 61, 10);
  int hashed = 0;
  const auto block = [&](std::uint64_t of_61, std::uint64_t of_57) {
    return [&hashed, of_61, of_57](Bytes size) {
      ++hashed;
      return size == 61 ? of_61 : of_57;
    };
  };
  contents.count({1, 64}, block(10, 0));
  contents.count({1, 64}, block(10, 12));
  contents.count({1, 64}, block(99, 12));
  EXPECT_EQ(hashed, 6) << "once for each size";
  contents.count({3, 64}, block(10, 12));
  EXPECT_EQ(hashed, 6) << "it begins like none";
  EXPECT_EQ(contents.copies(a), 2U);
  EXPECT_EQ(contents.copies(b), 0U);
  EXPECT_EQ(contents.copies(shorter), 2U);
  EXPECT_EQ(contents.copies(other), 0U);
}

TEST(Contents, ManyAreFound) {
  Contents contents;
  constexpr std::uint64_t kMany = 200'000;  // Most bits of the filter are taken by several.
  for (std::uint64_t i = 0; i < kMany; ++i) contents.add({i * 16, 64}, 61, i);
  for (std::uint64_t i = 0; i < kMany; ++i) {
    contents.count({i * 16, 64}, [i](Bytes) { return i; });
  }
  for (std::uint32_t i = 0; i < kMany; ++i) ASSERT_EQ(contents.copies(i), 1U);
}

}  // namespace
}  // namespace geiger::content
