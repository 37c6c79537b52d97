#include "live/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/unique_fd.h"
#include "control/run_directory.h"
#include "modules/module.h"

namespace geiger::live {
namespace {

constexpr std::chrono::milliseconds kStartPoll{2};
/// How long `geiger run` may take to fork; far more than it needs.
constexpr std::chrono::seconds kStartPatience{5};
constexpr int kCannotExecute = 126;

/// The only child of a process, as long as it has one.
pid_t child_of(pid_t parent) {
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", parent));
  pid_t child = -1;
  children >> child;
  return child;
}

/// In the child, before exec: only what may be called there.
void replace_streams(bool replaces_input, int output) {
  if (replaces_input) {
    const int null = open("/dev/null", O_RDONLY);
    if (null >= 0) dup2(null, STDIN_FILENO);
  }
  if (output < 0) return;
  dup2(output, STDOUT_FILENO);
  if (isatty(STDERR_FILENO) == 1) dup2(output, STDERR_FILENO);
}

int exit_code_of(int status) {
  constexpr int kSignalled = 128;
  return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

base::Outcome<LiveProgram> LiveProgram::start(const Orders& orders) {
  LiveProgram started;
  const bool takes_output = isatty(STDOUT_FILENO) == 1 || !orders.keeps_output;
  std::string file =
      fmt::format("geiger-{}.XXXXXX.out", control::name_for_files(orders.program.front()));
  base::UniqueFd output;
  if (takes_output) {
    output = base::UniqueFd(mkostemps(file.data(), 4, O_CLOEXEC));
    if (!output.is_open()) return base::Failure{fmt::format("{}: {}", file, std::strerror(errno))};
  }
  std::vector<std::string> words{"geiger", "run", "--quiet"};
  words.insert(words.end(), orders.options.begin(), orders.options.end());
  words.emplace_back("--");
  words.insert(words.end(), orders.program.begin(), orders.program.end());
  const std::string own = modules::own_program();
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const bool replaces_input = isatty(STDIN_FILENO) == 1;
  started.run_ = fork();
  if (started.run_ < 0) return base::Failure{fmt::format("fork: {}", std::strerror(errno))};
  if (started.run_ == 0) {
    setpgid(0, 0);
    signal(SIGPIPE, SIG_DFL);
    replace_streams(replaces_input, output.get());
    execv(own.c_str(), argv.data());
    _exit(kCannotExecute);
  }
  started.find_program();
  if (takes_output) {
    started.output_ =
        fmt::format("geiger-{}.{}.out", control::name_for_files(orders.program.front()),
                    started.program_ > 0 ? started.program_ : started.run_);
    if (rename(file.c_str(), started.output_.c_str()) != 0) started.output_ = file;
  }
  if (started.program_ > 0) {
    started.directory_ =
        control::OutputPlan(orders.program.front(), "").directory_for(started.program_);
  }
  return started;
}

void LiveProgram::find_program() {
  const auto end = std::chrono::steady_clock::now() + kStartPatience;
  while (!has_ended() && std::chrono::steady_clock::now() < end) {
    program_ = child_of(run_);
    if (program_ > 0) return;
    std::this_thread::sleep_for(kStartPoll);
  }
}

bool LiveProgram::has_ended() {
  if (status_) return true;
  int status = 0;
  if (waitpid(run_, &status, WNOHANG) != run_) return false;
  status_ = status;
  return true;
}

void LiveProgram::end() {
  if (has_ended()) return;
  if (!was_asked_) {
    kill(run_, SIGTERM);
  } else if (program_ > 0) {
    kill(program_, SIGKILL);
  }
  was_asked_ = true;
}

int LiveProgram::finish() {
  while (!status_) {
    int status = 0;
    const pid_t ended = waitpid(run_, &status, 0);
    if (ended == run_) status_ = status;
    if (ended < 0 && errno != EINTR) break;
  }
  return exit_code_of(status_.value_or(0));
}

}  // namespace geiger::live
