#include "run/signal_relay.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <string>

namespace geiger::run {
namespace {

sigset_t blocked_signals() {
  sigset_t mask;
  sigprocmask(SIG_BLOCK, nullptr, &mask);
  return mask;
}

// The state letter of /proc/PID/stat follows the last parenthesis of the name.
bool is_stopped(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  const auto got = fd.is_open() ? read(fd.get(), text.data(), text.size()) : -1;
  if (got <= 0) return true;  // unknown: one SIGCONT too many does no harm
  const std::string_view stat(text.data(), static_cast<std::size_t>(got));
  const auto name_end = stat.rfind(')');
  return name_end != std::string_view::npos && name_end + 2 < stat.size() &&
         stat[name_end + 2] == 'T';
}

bool reaches_program_by_itself(const signalfd_siginfo& info) {
  if (info.ssi_code <= 0) return false;
  // A hang-up goes to the leader of the session alone.
  return !(info.ssi_signo == SIGHUP && getsid(0) == getpid());
}

// Takes the default action of `signal` now, whatever the mask and the disposition
// were, and puts them back if the process lives on.
void take_default_action(int signal) {
  struct sigaction by_default {};
  struct sigaction before {};
  by_default.sa_handler = SIG_DFL;
  if (signal != SIGSTOP) sigaction(signal, &by_default, &before);
  (void)raise(signal);
  sigset_t one;
  sigset_t mask;
  sigemptyset(&one);
  sigaddset(&one, signal);
  sigprocmask(SIG_UNBLOCK, &one, &mask);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (signal != SIGSTOP) sigaction(signal, &before, nullptr);
}

}  // namespace

SignalRelay::SignalRelay(pid_t program) : program_(program) {
  const sigset_t mask = blocked_signals();
  fd_ = base::UniqueFd(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
}

bool SignalRelay::relay() {
  bool child_changed = false;
  signalfd_siginfo info{};
  while (read(fd_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD) {
      child_changed = true;
    } else {
      pass_on(info);
    }
  }
  return child_changed;
}

void SignalRelay::discard() {
  signalfd_siginfo info{};
  while (read(fd_.get(), &info, sizeof info) == sizeof info) {
  }
}

void SignalRelay::pass_on(const signalfd_siginfo& info) {
  const int signal = static_cast<int>(info.ssi_signo);
  const bool is_own = info.ssi_code <= 0 && info.ssi_pid == static_cast<std::uint32_t>(getpid());
  if (is_own || reaches_program_by_itself(info)) return;
  if (signal == SIGCONT && was_continued_) {
    was_continued_ = false;
    return;
  }
  if (info.ssi_code == SI_QUEUE) {
    sigval value{};
    value.sival_ptr = reinterpret_cast<void*>(info.ssi_ptr);
    sigqueue(program_, signal, value);
  } else {
    kill(program_, signal);
  }
}

void SignalRelay::stop_like(int signal) {
  relay();  // what came before the stop belongs before it
  take_default_action(signal);
  was_continued_ = true;
  if (is_stopped(program_)) kill(program_, SIGCONT);
}

int die_of(int signal) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_DUMPABLE, 0);  // a core_pattern that is a pipe ignores the limit
  take_default_action(signal);
  return 128 + signal;
}

}  // namespace geiger::run
