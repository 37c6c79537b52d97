#include "run/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/unique_fd.h"
#include "run/launch.h"

namespace geiger::run {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

void redirect(bool shows_output) {
  const int null = open("/dev/null", O_RDWR);
  if (null < 0) return;
  dup2(null, STDIN_FILENO);
  if (!shows_output) {
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
  }
  if (null > STDERR_FILENO) close(null);
}

}  // namespace

base::Outcome<Trial> run_trial(const std::vector<std::string>& program,
                               const Environment& environment, bool shows_output) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return base::Failure{"cannot make a pipe: " + std::generic_category().message(errno)};
  }
  const base::UniqueFd answer(ends[0]);
  base::UniqueFd refusal(ends[1]);
  const pid_t child = fork();
  if (child < 0) {
    return base::Failure{"cannot start a process: " + std::generic_category().message(errno)};
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // Ends with geiger, which waits for it.
    redirect(shows_output);
    const int error = become(program, environment);
    const auto written = write(refusal.get(), &error, sizeof error);
    _exit(written == sizeof error ? 127 : 126);
  }
  refusal.reset();
  int error = 0;
  const bool is_refused = read(answer.get(), &error, sizeof error) == sizeof error;
  Trial trial;
  rusage usage{};
  while (wait4(child, &trial.status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (is_refused) {
    return base::Failure{fmt::format("cannot run '{}': {}", program.front(),
                                     std::generic_category().message(error))};
  }
  trial.cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  trial.peak = static_cast<Bytes>(usage.ru_maxrss) * kKiB;
  return trial;
}

}  // namespace geiger::run
