// What a program may do with SIGSEGV, whoever else handles it: what it sets it gets back, its
// handlers run as it asked, and it dies as it would.
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "scenario.h"

namespace {

/// Enough allocations for a runtime to have done whatever it does.
void allocate() {
  for (int i = 0; i < 300; ++i) free(opaque(malloc(static_cast<std::size_t>(16 + i))));
}

sigjmp_buf back;
volatile sig_atomic_t handled = 0;
int* volatile nowhere = nullptr;

void count(int) { handled = handled + 1; }
void jump(int) { siglongjmp(back, 1); }
void tell(int signal, siginfo_t* info, void*) {
  std::printf("signal %d, code %d, value %d, own %d\n", signal, info->si_code,
              info->si_value.sival_int, info->si_pid == getpid());
}

struct sigaction action_of(void (*handler)(int), int flags = 0) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  return action;
}

struct sigaction current() {
  struct sigaction action {};
  EXPECT(sigaction(SIGSEGV, nullptr, &action) == 0);
  return action;
}

/// How a child ends that does this.
template <typename Body>
void print_end(const char* what, const Body& body) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    allocate();
    body();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("%s: exit %d, signal %d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
              WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

void are_seen() {
  allocate();
  EXPECT(current().sa_handler == SIG_DFL);
  struct sigaction wanted = action_of(count, SA_NODEFER);
  sigaddset(&wanted.sa_mask, SIGUSR1);
  EXPECT(sigaction(SIGSEGV, &wanted, nullptr) == 0);
  allocate();
  const struct sigaction seen = current();
  EXPECT(seen.sa_handler == count && (seen.sa_flags & SA_NODEFER) != 0);
  EXPECT((seen.sa_flags & SA_SIGINFO) == 0);
  EXPECT(sigismember(&seen.sa_mask, SIGUSR1) == 1 && sigismember(&seen.sa_mask, SIGUSR2) == 0);
  EXPECT(signal(SIGSEGV, jump) == count);
  EXPECT(current().sa_handler == jump && (current().sa_flags & SA_RESTART) != 0);
  EXPECT(signal(SIGSEGV, SIG_DFL) == jump);
  EXPECT(current().sa_handler == SIG_DFL);
  errno = 0;
  EXPECT(signal(SIGSEGV, SIG_ERR) == SIG_ERR && errno == EINVAL);
}

void recover() {
  allocate();
  struct sigaction wanted = action_of(jump);
  sigaction(SIGSEGV, &wanted, nullptr);
  for (int i = 0; i < 5; ++i) {
    if (sigsetjmp(back, 1) == 0) {
      *nowhere = 1;
      std::puts("not stopped");
    }
    allocate();
    handled = handled + 1;
  }
  std::printf("recovered %d times\n", static_cast<int>(handled));
}

void are_told() {
  allocate();
  struct sigaction wanted {};
  wanted.sa_sigaction = tell;
  wanted.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &wanted, nullptr);
  sigqueue(getpid(), SIGSEGV, {.sival_int = 42});
  raise(SIGSEGV);
  kill(getpid(), SIGSEGV);
}

void reset() {
  print_end("reset", [] {
    struct sigaction wanted = action_of(count, static_cast<int>(SA_RESETHAND));
    sigaction(SIGSEGV, &wanted, nullptr);
    raise(SIGSEGV);
    EXPECT(handled == 1 && current().sa_handler == SIG_DFL);
    std::fflush(stdout);
    raise(SIGSEGV);
  });
}

void are_ignored() {
  allocate();
  signal(SIGSEGV, SIG_IGN);
  raise(SIGSEGV);
  allocate();
  std::fflush(stdout);
  // What is ignored stays ignored across exec.
  print_end("of a shell", [] { execl("/bin/sh", "sh", "-c", "kill -SEGV $$; exit 3", nullptr); });
  print_end("an access", [] { *nowhere = 1; });
}

/// vfork's child shares the memory, not the actions.
void are_the_parents() {
  allocate();
  signal(SIGSEGV, count);
  const pid_t child = vfork();
  if (child == 0) {
    struct sigaction before {};
    struct sigaction wanted = action_of(SIG_DFL);
    const bool is_seen = sigaction(SIGSEGV, &wanted, &before) == 0 && before.sa_handler == count &&
                         current().sa_handler == SIG_DFL;
    _exit(is_seen ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT(current().sa_handler == count);
  raise(SIGSEGV);
  EXPECT(handled == 1);
}

void kill_by_default() {
  print_end("raised", [] { raise(SIGSEGV); });
  print_end("queued", [] { sigqueue(getpid(), SIGSEGV, {.sival_int = 1}); });
  print_end("an access", [] { *nowhere = 1; });
  print_end("blocked", [] {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    *nowhere = 1;
  });
  print_end("a shell's", [] {
    signal(SIGSEGV, count);
    execl("/bin/sh", "sh", "-c", "kill -SEGV $$; exit 3", nullptr);
  });
}

char other_stack[64 * 1024];

void run_on_other_stack() {
  stack_t stack{};
  stack.ss_sp = other_stack;
  stack.ss_size = sizeof other_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction wanted {};
  wanted.sa_sigaction = [](int, siginfo_t*, void*) {
    const char here = 0;
    const bool is_inside = &here > other_stack && &here < other_stack + sizeof other_stack;
    std::printf("on the other stack: %d\n", is_inside);
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, nullptr, &blocked);
    std::printf("blocked: SEGV %d, USR1 %d, USR2 %d\n", sigismember(&blocked, SIGSEGV),
                sigismember(&blocked, SIGUSR1), sigismember(&blocked, SIGUSR2));
    siglongjmp(back, 1);
  };
  wanted.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaddset(&wanted.sa_mask, SIGUSR2);
  allocate();
  sigaction(SIGSEGV, &wanted, nullptr);
  allocate();
  if (sigsetjmp(back, 1) == 0) *nowhere = 1;
}

}  // namespace

int main(int argc, char** argv) {
  return run_scenario(argc, argv,
                      {{"are_seen", are_seen},
                       {"recover", recover},
                       {"are_told", are_told},
                       {"reset", reset},
                       {"are_ignored", are_ignored},
                       {"are_the_parents", are_the_parents},
                       {"kill_by_default", kill_by_default},
                       {"run_on_other_stack", run_on_other_stack}});
}
