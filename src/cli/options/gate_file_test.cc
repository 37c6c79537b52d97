#include <gtest/gtest.h>

#include "cli/options/gate_options.h"

namespace geiger::cli {
namespace {

using compare::Measured;

std::string refusal(std::string_view text) {
  const auto specs = parse_budget(text, "dir/budget");
  return specs.has_value() ? "" : specs.reason();
}

TEST(Budget, HoldsALimitPerLine) {
  const auto specs = parse_budget(
      "# what the parser may take\n"
      "\n"
      "max-bytes 200MiB *\r\n"
      "  max-growth\t5%   parse_*\n"
      "max-bytes 64KiB  serve(int, char) in libserver.so\n"
      "max-growth 0% operator[]",
      "dir/budget");
  ASSERT_TRUE(specs.has_value()) << specs.reason();
  ASSERT_EQ(specs.value().size(), 4U);
  const auto& [whole, growth, function, last] =
      std::tie(specs.value()[0], specs.value()[1], specs.value()[2], specs.value()[3]);
  EXPECT_TRUE(whole.pattern.matches_everything());
  EXPECT_EQ(whole.limit.measured, Measured::kBytes);
  EXPECT_EQ(whole.limit.most, 200 << 20);
  EXPECT_EQ(whole.source, "budget:3");
  EXPECT_EQ(growth.limit.measured, Measured::kGrowth);
  EXPECT_EQ(growth.pattern.function, "parse_*");
  EXPECT_EQ(function.pattern.function, "serve(int, char)");
  EXPECT_EQ(function.pattern.module, "libserver.so");
  EXPECT_EQ(last.pattern.function, "operator[]");
  EXPECT_EQ(last.source, "budget:6");
}

TEST(Budget, LimitsLabels) {
  const auto specs = parse_budget("max-bytes 1MiB label module=tests/test a.py in b", "dir/budget");
  ASSERT_TRUE(specs.has_value()) << specs.reason();
  const compare::Pattern& pattern = specs.value().front().pattern;
  EXPECT_EQ(pattern.label, "module=tests/test a.py in b");
  EXPECT_FALSE(pattern.matches_everything());
  EXPECT_EQ(specs.value().front().name(), pattern.label);
  EXPECT_EQ(specs.value().front().detail(), "label");
  const auto function = parse_budget("max-bytes 1MiB label", "dir/budget");
  EXPECT_EQ(function.value().front().pattern.function, "label");
}

TEST(Budget, RefusalsNameTheLine) {
  EXPECT_EQ(refusal("\nmax-bytes 1MiB\n"), "dir/budget:2: no function given (* matches all)");
  EXPECT_EQ(refusal("max-bytes\n"), "dir/budget:1: a limit needs a value and a function");
  EXPECT_EQ(refusal("bytes 1MiB *"),
            "dir/budget:1: unknown limit 'bytes' (choose from max-growth, max-bytes)");
  EXPECT_EQ(refusal("#\n#\nmax-growth 5 *"), "dir/budget:3: '5' is not a growth limit (try 5%)");
  EXPECT_EQ(refusal("max-bytes 5% *"),
            "dir/budget:1: '5%' is not a size (try 4096, 512KiB, 512kB or 4GiB)");
  EXPECT_EQ(refusal("max-bytes 1MiB lable module=a"),
            "dir/budget:1: unknown word 'lable'; did you mean 'label'?");
  EXPECT_EQ(refusal("*\nmax-bytes 1MiB x"), "dir/budget:1: a limit needs a value and a function");
  EXPECT_EQ(refusal("max-bytes 1MiB function parse"),
            "dir/budget:1: name a function without the word 'function'");
  EXPECT_EQ(refusal("max-bytes 1MiB module libz.so"),
            "dir/budget:1: name a module as '* in MODULE'");
  EXPECT_EQ(refusal("max-bytes 1MiB void parse<int>(char const*)"), "");
  EXPECT_EQ(refusal("max-bytes 1MiB operator new(unsigned long)"), "");
  EXPECT_EQ(refusal("# nothing\n"), "dir/budget: contains no limits");
  EXPECT_EQ(refusal(""), "dir/budget: contains no limits");
}

TEST(Budget, FilesThatAreNotThere) {
  EXPECT_EQ(read_budget("/no/such/file").reason(), "/no/such/file: No such file or directory");
  EXPECT_EQ(read_budget("/dev/zero").reason(), "/dev/zero: too large (at most 1 MiB)");
  EXPECT_EQ(read_budget("/tmp").reason(), "/tmp: Is a directory");
}

}  // namespace
}  // namespace geiger::cli
