#include "inject/copy_checks.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace geiger::inject {
namespace {

TEST(CopyChecks, ReadsKilobytes) {
  constexpr std::string_view kText =
      "VmRSS:\t     123 kB\nRssAnonymous: 7 kB\nRssAnon:\t  20 kB\nNone: kB\nRssAnon\n\n";
  EXPECT_EQ(kilobytes_of(kText, "RssAnon"), 20'480U);
  EXPECT_EQ(kilobytes_of(kText, "None"), std::nullopt);
  EXPECT_EQ(kilobytes_of(kText, "Other"), std::nullopt);
}

TEST(CopyChecks, WhatIsNotKnownIsRefused) {
  EXPECT_TRUE(check_room(::getpid()).has_value());
  EXPECT_FALSE(check_room(0).has_value());
  EXPECT_FALSE(check_company(1, {}).has_value());
  ProcessFacts facts;
  EXPECT_TRUE(check_company(::getpid(), facts).has_value());
  facts.confinement.mode = 2;
  EXPECT_FALSE(check_company(::getpid(), facts).has_value());
}

}  // namespace
}  // namespace geiger::inject
