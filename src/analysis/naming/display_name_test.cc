#include "analysis/naming/display_name.h"

#include <gtest/gtest.h>

namespace geiger::naming {
namespace {

TEST(DisplayName, LeavesOutWhatTheAuthorDidNotWrite) {
  EXPECT_EQ(display_name("main"), "main");
  EXPECT_EQ(display_name("zoo::Cage::Cage(int)"), "zoo::Cage::Cage");
  EXPECT_EQ(display_name("std::vector<int, std::allocator<int> >::resize(unsigned long)"),
            "vector<int>::resize");
  EXPECT_EQ(display_name("std::shared_ptr<Session> std::make_shared<Session>()"),
            "make_shared<Session>");
  EXPECT_EQ(display_name("main::{lambda()#1}::operator()() const"), "main::{lambda}");
  EXPECT_EQ(display_name("std::__cxx11::basic_string<char, std::char_traits<char>, "
                         "std::allocator<char> >::basic_string(char const*)"),
            "string::string");
  EXPECT_EQ(display_name("core::ptr::drop_in_place<alloc::vec::Vec<u8>>::h0123456789abcdef"),
            "core::ptr::drop_in_place<alloc::vec::Vec<u8>>");
}

}  // namespace
}  // namespace geiger::naming
