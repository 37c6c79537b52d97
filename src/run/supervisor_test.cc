#include "run/supervisor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

namespace geiger::run {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST(LateSignals, AreIgnoredForATime) {
  EXPECT_EXIT(
      {
        outlast_late_signals(hours(1));
        for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) (void)raise(signal);
        _exit(3);
      },
      testing::ExitedWithCode(3), "");
  EXPECT_EXIT(
      {
        outlast_late_signals(seconds(0));
        (void)raise(SIGTERM);
        _exit(3);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(LateSignals, StayIgnoredWhereTheyWere) {
  EXPECT_EXIT(
      {
        std::signal(SIGINT, SIG_IGN);
        outlast_late_signals(seconds(0));
        (void)raise(SIGINT);
        _exit(3);
      },
      testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace geiger::run
