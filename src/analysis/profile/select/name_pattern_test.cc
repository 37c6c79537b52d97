#include <gtest/gtest.h>

#include <string>

#include "analysis/profile/select/patterns.h"

namespace geiger::profile {
namespace {

bool matches(const std::string& expression, std::string_view name) {
  const auto pattern = NamePattern::parse(expression);
  EXPECT_TRUE(pattern.has_value()) << pattern.reason();
  return pattern.has_value() && pattern->matches(name);
}

std::string refusal(const std::string& expression) {
  const auto pattern = NamePattern::parse(expression);
  return pattern.has_value() ? "" : pattern.reason();
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(NamePattern, MatchesAnyPart) {
  EXPECT_TRUE(matches("realloc", "std::vector<int>::_M_realloc_insert"));
  EXPECT_TRUE(matches("^pool_(alloc|grow)", "pool_grow_by"));
  EXPECT_FALSE(matches("^pool_(alloc|grow)$", "pool_grow_by"));
  EXPECT_TRUE(matches("^[[:alpha:]_]+[0-9]{2,3}$", "worker_17"));
  EXPECT_FALSE(matches("^[[:upper:][:digit:]]+$", "worker_17"));
  EXPECT_TRUE(matches("[]a]", "x]"));
  EXPECT_TRUE(matches("operator\\[\\]|\\{lambda", "main::{lambda()#1}"));
  EXPECT_TRUE(matches("\\bserve\\b", "shop::serve(int)"));
  EXPECT_FALSE(matches("SERVE", "serve"));
}

TEST(NamePattern, IsOfBytes) {
  EXPECT_TRUE(matches("^a.b$",
                      "a\xff"
                      "b"));
  EXPECT_TRUE(matches("^a.b$", "a\nb"));
  EXPECT_FALSE(matches("^b", "a\nb"));
  EXPECT_FALSE(matches("a$", "a\n"));
  EXPECT_TRUE(matches("\xff\xfe", "x\xff\xfe"));
  EXPECT_TRUE(matches("na\xc3\xafve", "so_na\xc3\xafve"));
  EXPECT_TRUE(matches(std::string("a\0b", 3), std::string("xa\0b", 4)));
  EXPECT_FALSE(matches(std::string("a\0c", 3), "a"));
}

TEST(NamePattern, IsRefusedWhereItCannotBeRead) {
  EXPECT_EQ(refusal("("), "'(': missing ): '('");
  EXPECT_EQ(refusal("*parse*"), "'*parse*': no argument for repetition operator: '*'");
  EXPECT_EQ(refusal(""), "'': it is empty and would match everything");
  EXPECT_NE(refusal("(a)\\1"), "");
}

TEST(NamePattern, OfAnotherDialectIsRefused) {
  EXPECT_EQ(refusal("\\<serve"), "'\\<serve': \\< is not supported: use \\b");
  EXPECT_NE(refusal("serve\\>"), "");
  EXPECT_NE(refusal("a{,3}"), "");
  EXPECT_TRUE(matches("a\\\\<b", "a\\<b"));
  EXPECT_TRUE(matches("{,}", "main::{,}"));
}

TEST(NamePattern, IsRefusedInOneLineHoweverLargeItIs) {
  for (const std::string& expression :
       {std::string(60'000, '('), std::string(10'000, '('), std::string(1 << 20, '|'),
        std::string(60'000, '(') + "x" + std::string(60'000, ')'),
        std::string("a{1000}{1000}{1000}"), std::string("((a{1000}){1000}){1000}"),
        repeated("(a{99}){9}", 1000)}) {
    testing::internal::CaptureStderr();
    const std::string reason = refusal(expression);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_NE(reason, "") << expression.substr(0, 20);
    EXPECT_LT(reason.size(), 250U) << reason;
    EXPECT_EQ(reason.find('\n'), std::string::npos);
  }
}

TEST(NamePattern, TakesDeepNesting) {
  EXPECT_TRUE(matches(std::string(8'000, '(') + "x" + std::string(8'000, ')'), "ax"));
}

TEST(NamePattern, TakesTimeLinearInTheName) {
  // Backtracking would take 2^100'000 steps, recursion 100'000 frames.
  EXPECT_FALSE(matches("(x+x+)+y", std::string(100'000, 'x')));
  EXPECT_FALSE(matches("(a|b)*a(a|b){18}c", repeated("abaabb", 20'000)));
}

}  // namespace
}  // namespace geiger::profile
