#include "base/check.h"

#include <gtest/gtest.h>

#include <string>

namespace geiger::base {
namespace {

int failed_line = 0;

TEST(Check, HoldsSilently) { EXPECT_TRUE(GEIGER_CHECK(1 + 1 == 2)); }

TEST(Check, ThrowsOutsideOfTheRuntime) {
  try {
    (void)GEIGER_CHECK(1 + 1 == 3);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("check_test.cc:"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("1 + 1 == 3"), std::string::npos);
  }
}

TEST(Check, TellsTheRuntimeAndGoesOn) {
  EXPECT_FALSE(fail_check("file.cc", 7));  // No handler is set yet.
  on_failed_check.store([](const char*, int line) { failed_line = line; });
  EXPECT_FALSE(fail_check("file.cc", 7));
  EXPECT_EQ(failed_line, 7);
  on_failed_check.store(nullptr);
}

TEST(Check, AssertionsSayWhere) {
  EXPECT_DEATH(fail_assertion("file.cc", 7, "assertion failed: x"),
               "geiger: file.cc:7: assertion failed: x");
#if defined(GEIGER_ASSERTIONS)
  EXPECT_DEATH(GEIGER_ASSERT(1 + 1 == 3), "check_test.cc:[0-9]+: assertion failed: 1 \\+ 1 == 3");
#else
  GEIGER_ASSERT(1 + 1 == 3);
#endif
}

}  // namespace
}  // namespace geiger::base
