#include "run/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"
#include "run/target_check.h"

namespace geiger::run {

namespace {

constexpr std::array kFaults{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

struct Pipe {
  base::UniqueFd read_end;
  base::UniqueFd write_end;
};

Pipe make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  return {base::UniqueFd(ends[0]), base::UniqueFd(ends[1])};
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const auto got = read(fd, buffer.data(), buffer.size());
    if (got > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return text;
    }
  }
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno != EINTR) return;
    if (wrote > 0) text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Runs in the child. The orders end with an empty word; if they are cut, geiger
// died before the program was to start, and it does not.
[[noreturn]] void wait_and_execute(std::vector<std::string> argv, Pipe orders, Pipe answer,
                                   const SignalState& signals) {
  orders.write_end.reset();
  const std::string text = read_all(orders.read_end.get());
  if (text.empty() || text.back() != '\n') _exit(125);
  Environment environment;
  for (std::size_t begin = 0; begin + 1 < text.size();) {
    const auto end = text.find('\0', begin);
    environment.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  restore_signals(signals);
  const int error = become(std::move(argv), std::move(environment));
  write_all(answer.write_end.get(), {reinterpret_cast<const char*>(&error), sizeof error});
  _exit(127);
}

}  // namespace

SignalState take_over_signals() {
  SignalState before{};
  sigset_t blocked;
  sigfillset(&blocked);
  for (const int fault : kFaults) sigdelset(&blocked, fault);
  sigprocmask(SIG_BLOCK, &blocked, &before.mask);
  struct sigaction wait_for_children {};
  wait_for_children.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &wait_for_children, &before.child_action);
  return before;
}

void restore_signals(const SignalState& state) {
  sigaction(SIGCHLD, &state.child_action, nullptr);
  sigprocmask(SIG_SETMASK, &state.mask, nullptr);
}

base::Outcome<Launch> Launch::fork_waiting(std::vector<std::string> argv,
                                           const SignalState& signals) {
  Pipe orders = make_pipe();
  Pipe answer = make_pipe();
  const bool has_pipes = orders.read_end.is_open() && answer.read_end.is_open();
  Launch launch;
  launch.pid_ = has_pipes ? fork() : -1;
  if (launch.pid_ < 0) {
    return base::Failure{fmt::format("cannot start a process: {}", std::strerror(errno))};
  }
  if (launch.pid_ == 0) {
    wait_and_execute(std::move(argv), std::move(orders), std::move(answer), signals);
  }
  launch.orders_ = std::move(orders.write_end);
  launch.answer_ = std::move(answer.read_end);
  return launch;
}

int Launch::execute(const Environment& environment) {
  std::string text;
  for (const auto& word : environment) text.append(word).push_back('\0');
  text.push_back('\n');
  write_all(orders_.get(), text);
  orders_.reset();
  const std::string answer = read_all(answer_.get());
  int error = 0;
  if (answer.size() != sizeof error) return 0;
  std::memcpy(&error, answer.data(), sizeof error);
  waitpid(pid_, nullptr, 0);
  return error;
}

int become(std::vector<std::string> argv, Environment environment) {
  const auto arguments = pointers_to(argv);
  const auto words = pointers_to(environment);
  // A binary that the kernel refuses, such as another processor's, is no script for a shell.
  const std::string binary = binary_of(argv.front());
  if (binary.empty()) {
    execvpe(arguments[0], arguments.data(), words.data());
  } else {
    execve(binary.c_str(), arguments.data(), words.data());
  }
  return errno;
}

void occupy_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number is `fd` itself: those below are open by now.
    const int opened = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (opened != fd && opened >= 0) close(opened);
  }
}

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
