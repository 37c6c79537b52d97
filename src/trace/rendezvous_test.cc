#include "trace/rendezvous.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

namespace geiger::trace {
namespace {

std::uint64_t ticks_in(const std::string& text) { return start_ticks_in(text.data(), text.size()); }

TEST(StartTicks, AreField22WhateverTheProgramIsCalled) {
  const std::string rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 9876543 20 21\n";
  EXPECT_EQ(ticks_in("7 (sh)" + rest), 9876543U);
  EXPECT_EQ(ticks_in("7 (a) b) ( c)" + rest), 9876543U);
  EXPECT_EQ(ticks_in("7 ()" + rest), 9876543U);
}

TEST(StartTicks, OfAnyOtherTextAreNone) {
  for (const char* text : {"", "7", "7 (sh", "7 (sh)", "7 (sh) S 1 2 3", ")))"}) {
    EXPECT_EQ(ticks_in(text), 0U) << text;
  }
  EXPECT_EQ(ticks_in("7 (sh) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x 20"), 0U);
  EXPECT_EQ(ticks_in("7 (sh) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 98"), 0U);
}

TEST(RendezvousPlace, IsTheRuntimeDirectoryOfTheProgramThenOfItsUserThenTmp) {
  RendezvousPlace place{};
  ASSERT_TRUE(rendezvous_place(0, "/x", 1000, place));
  EXPECT_STREQ(place.parent, "/x");
  EXPECT_STREQ(place.name, "geiger");
  ASSERT_TRUE(rendezvous_place(1, nullptr, 1000, place));
  EXPECT_STREQ(place.parent, "/run/user/1000");
  EXPECT_FALSE(place.parent_is_shared);
  ASSERT_TRUE(rendezvous_place(2, nullptr, 4294967295U, place));
  EXPECT_STREQ(place.parent, "/tmp");
  EXPECT_STREQ(place.name, "geiger-4294967295");
  EXPECT_TRUE(place.parent_is_shared);
}

TEST(RendezvousPlace, IsNotOneWithoutAnAbsolutePathThatFits) {
  RendezvousPlace place{};
  EXPECT_FALSE(rendezvous_place(-1, "/run", 0, place));
  EXPECT_FALSE(rendezvous_place(0, nullptr, 0, place));
  EXPECT_FALSE(rendezvous_place(0, "", 0, place));
  EXPECT_FALSE(rendezvous_place(0, "run", 0, place));
  EXPECT_FALSE(rendezvous_place(0, ("/" + std::string(2000, 'a')).c_str(), 0, place));
  EXPECT_EQ(std::strlen(place.parent), kRendezvousPath - 1);
  EXPECT_FALSE(rendezvous_place(-1, "/x", 0, place));
}

TEST(Bell, IsOneOfThisVersionOnly) {
  Bell bell{};
  EXPECT_FALSE(is_bell(bell));
  begin_bell(bell);
  EXPECT_TRUE(is_bell(bell));
  ++bell.version;
  EXPECT_FALSE(is_bell(bell));
}

TEST(Request, IsForARecordingWhenOdd) {
  EXPECT_EQ(next_request(0, true), 1U);
  EXPECT_EQ(next_request(1, true), 3U);
  EXPECT_EQ(next_request(1, false), 2U);
  EXPECT_EQ(next_request(2, false), 4U);
  EXPECT_EQ(next_request(~0U, true), 1U);
  EXPECT_EQ(next_request(~0U, false), 0U);
}

TEST(Bell, TellsWhoWasCalledSinceItWasHeard) {
  const auto bell = std::make_unique<Bell>();
  EXPECT_FALSE(is_bell(*bell));
  begin_bell(*bell);
  EXPECT_TRUE(is_bell(*bell));
  bell->version += 1;
  EXPECT_FALSE(is_bell(*bell));
  bell->version -= 1;
  const auto called = [&](std::uint32_t pid, std::uint32_t heard) {
    return bell->has_called(pid, heard, bell->rings.load());
  };
  EXPECT_FALSE(called(7, 0));
  bell->ring(7);
  EXPECT_TRUE(called(7, 0));
  EXPECT_FALSE(called(7, 1));
  EXPECT_FALSE(called(8, 0));
  bell->ring(8);
  EXPECT_TRUE(called(7, 0));
  EXPECT_TRUE(called(8, 1));
  for (int i = 0; i < 100; ++i) bell->ring(9);
  EXPECT_TRUE(called(1000, 2));  // Too long ago to know.
  EXPECT_FALSE(called(1000, 102 - 63));
}

TEST(Rendezvous, IsOfOneProcessOnly) {
  const auto page = std::make_unique<Rendezvous>();
  EXPECT_FALSE(is_rendezvous_of(*page, 0, 0));
  begin_rendezvous(*page, 7, 99);
  EXPECT_TRUE(is_rendezvous_of(*page, 7, 99));
  EXPECT_FALSE(is_rendezvous_of(*page, 7, 98));
  EXPECT_FALSE(is_rendezvous_of(*page, 8, 99));
  page->version = 2;
  EXPECT_FALSE(is_rendezvous_of(*page, 7, 99));
  char name[32];
  rendezvous_name(4294967295U, ~std::uint64_t{0}, name);
  EXPECT_STREQ(name, "4294967295.18446744073709551615");
  EXPECT_TRUE(is_rendezvous_name(name));
  EXPECT_TRUE(is_rendezvous_name("1.0"));
  for (const char* other : {"", "bell", "7", "7.", ".99", "7.99.new.8", "p.7.99", "7.99 "}) {
    EXPECT_FALSE(is_rendezvous_name(other)) << other;
  }
}

}  // namespace
}  // namespace geiger::trace
