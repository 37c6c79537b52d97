// How long an exit waits, by a clock that stands still or leaps: no real time decides.
#include "runtime/capture/control/exit_scan.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <string>

#include "base/clock.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/test_recording.h"

namespace geiger::capture {
namespace {

using test::control;
using test::header;

constinit time_t seconds = 1000, leap = 0;
int leaping_clock(clockid_t, timespec* time) {
  *time = {seconds += leap, 0};
  return 0;
}

/// A recording whose scanner is this process, or a child of it.
class ExitScan : public test::Recorded {
 protected:
  template <class Body>
  int waiting_for(pid_t scanner, const Body& body) {
    return recorded("GEIGER_MODE=scanner=" + std::to_string(scanner), [&] {
      base::clock_function = leaping_clock;
      return body();
    });
  }
};

TEST_F(ExitScan, IsOverWhenItIsDone) {
  EXPECT_EQ(waiting_for(getpid(),
                        [] {
                          control().was_scanned = 1;
                          wait_for_scan();
                          return 0;
                        }),
            0);
}

// Nobody has taken its status yet, and the clock stands still.
TEST_F(ExitScan, IsOverWhenTheScannerHasEnded) {
  const pid_t scanner = fork();
  if (scanner == 0) _exit(0);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(scanner), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(waiting_for(scanner,
                        [] {
                          wait_for_scan();
                          return 0;
                        }),
            0);
  waitpid(scanner, nullptr, 0);
}

TEST_F(ExitScan, TakesTenSecondsAtMostAndOnce) {
  EXPECT_EQ(waiting_for(getpid(),
                        [] {
                          leap = 1;
                          const time_t begun = seconds;
                          wait_for_scan();
                          const time_t waited = seconds - begun;
                          GEIGER_OR_FAIL(waited >= 10 && waited <= 12);
                          GEIGER_OR_FAIL(header().waits_at_exit == 0);
                          wait_for_scan();
                          GEIGER_OR_FAIL(seconds == begun + waited);
                          return 0;
                        }),
            0);
}

}  // namespace
}  // namespace geiger::capture
