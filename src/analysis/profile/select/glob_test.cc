#include <gtest/gtest.h>

#include "analysis/profile/select/patterns.h"

namespace geiger::profile::glob_test {
namespace {

TEST(Glob, MatchesStarsAndSingleCharacters) {
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("parse_*", "parse_request"));
  EXPECT_FALSE(matches_glob("parse_*", "reparse_request"));
  EXPECT_TRUE(matches_glob("*::push_back*", "std::vector<int>::push_back(int const&)"));
  EXPECT_TRUE(matches_glob("operator[]", "operator[]"));
  EXPECT_FALSE(matches_glob("operator[]", "operator["));
  EXPECT_TRUE(matches_glob("a?c*e", "abcde"));
  EXPECT_TRUE(matches_glob("*ab", "aab"));
  EXPECT_FALSE(matches_glob("", "a"));
}

}  // namespace
}  // namespace geiger::profile::glob_test
