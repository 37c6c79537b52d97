#include <gtest/gtest.h>
#include <sys/wait.h>

#include "run/launch.h"

namespace geiger::run {
namespace {

Trial of_shell(const std::string& command) {
  const auto trial = run_trial({"sh", "-c", command}, own_environment(), false);
  EXPECT_TRUE(trial.has_value());
  return trial.value();
}

TEST(RunTrial, TellsHowItEnded) {
  EXPECT_EQ(WEXITSTATUS(of_shell("exit 3").status), 3);
  EXPECT_EQ(WTERMSIG(of_shell("kill -9 $$").status), 9);
  EXPECT_EQ(WEXITSTATUS(of_shell("read line && exit 4; exit 5").status), 5);  // No input.
}

TEST(RunTrial, CountsTheProcessesThatWereWaitedFor) {
  const std::string loop = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
  const double one = of_shell(loop).cpu;
  EXPECT_GT(one, 0.01);
  EXPECT_GT(of_shell("sh -c '" + loop + "'; " + loop).cpu, 1.2 * one);
}

TEST(RunTrial, FindsThePeak) {
  EXPECT_GT(of_shell("exec head -c 50000000 /dev/zero | tail -c 40000000").peak, 40'000'000);
}

TEST(RunTrial, SaysWhatCannotRun) {
  const auto trial = run_trial({"/nowhere/program"}, own_environment(), false);
  ASSERT_FALSE(trial.has_value());
  EXPECT_EQ(trial.reason(), "cannot run '/nowhere/program': No such file or directory");
}

}  // namespace
}  // namespace geiger::run
