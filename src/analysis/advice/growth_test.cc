#include "analysis/advice/growth.h"

#include <gtest/gtest.h>

#include <string>

#include "analysis/profile/testing/test_recording.h"

namespace geiger::advice {
namespace {

std::string container_of(std::string_view function) {
  const GrowthRule* const rule = growth_rule_of(function);
  return rule == nullptr ? "" : std::string(rule->container);
}

TEST(GrowthRules, KnowWhatGrows) {
  EXPECT_EQ(
      container_of("void std::vector<int, std::allocator<int> >::_M_realloc_insert<int "
                   "const&>(__gnu_cxx::__normal_iterator<int*, std::vector<int> >, int const&)"),
      "vector");
  EXPECT_EQ(container_of("std::__cxx11::basic_string<char, std::char_traits<char>, "
                         "std::allocator<char> >::_M_mutate(unsigned long, unsigned long, char "
                         "const*, unsigned long)"),
            "string");
  EXPECT_EQ(container_of("void std::__1::vector<int, std::__1::allocator<int> "
                         ">::__push_back_slow_path<int const&>(int const&)"),
            "vector");
  EXPECT_EQ(container_of("alloc::raw_vec::RawVec<T,A>::grow_amortized"), "Vec or String");
  EXPECT_EQ(container_of("alloc::raw_vec::RawVec<T,A>::grow_one"), "Vec or String");
  EXPECT_EQ(container_of("alloc::raw_vec::finish_grow"), "Vec or String");
}

TEST(GrowthRules, KnowWhatIsTheRemedy) {
  EXPECT_EQ(container_of("std::vector<int, std::allocator<int> >::reserve(unsigned long)"), "");
  EXPECT_EQ(container_of("std::__cxx11::basic_string<char>::reserve(unsigned long)"), "");
  EXPECT_EQ(
      container_of("std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)"),
      "");
  EXPECT_EQ(container_of("main"), "");
}

TEST(StackBook, NamesThePlaceThatGrows) {
  profile::TestRecording made;
  const auto grow = made.location({"std::vector<int>::_M_realloc_insert<int>", "fill"});
  const auto expand = made.location({"sdsMakeRoomFor"});
  const auto read = made.location({"read_reply"});
  const auto main = made.location({"main"});
  made.recording.frames[1].file = "/src/parser.cc";
  made.recording.frames[1].line = 88;
  const auto vector = made.stack({grow, main}), own = made.stack({expand, read, main});
  const auto none = made.stack({read, main});
  StackBook stacks(made.recording);
  const auto name_at = [&](std::uint32_t stack) {
    return stacks.labels()[stacks[stack].place.label].name;
  };
  EXPECT_EQ(name_at(vector), "fill");
  EXPECT_EQ(stacks[vector].place.line, 88U);
  EXPECT_EQ(stacks[vector].growth->container, "vector");
  EXPECT_EQ(name_at(own), "read_reply");
  EXPECT_EQ(stacks[own].growth->container, "sds");
  EXPECT_EQ(stacks[none].growth, nullptr);
}

}  // namespace
}  // namespace geiger::advice
