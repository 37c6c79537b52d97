// Signals that arrive anywhere, with handlers that allocate, jump out, or run on
// a stack of their own.
#include <link.h>
#include <pthread.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "scenario.h"

namespace {

volatile sig_atomic_t handled = 0;

void install(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

void set_timer(int microseconds) {
  itimerval timer = {};
  timer.it_interval.tv_usec = microseconds;
  timer.it_value.tv_usec = microseconds;
  setitimer(ITIMER_PROF, &timer, nullptr);
}

/// Runs until enough signals were handled.
void work_until(int signals) {
  while (handled < signals) {
    void* block = opaque(malloc(24));
    free(block);
  }
}

void on_signal_keeps_errno(int) {
  const int saved = errno;
  handled = handled + 1;
  errno = saved;
}

void plain() {
  install(SIGPROF, on_signal_keeps_errno, SA_RESTART);
  set_timer(500);
  work_until(25);
  set_timer(0);
}

// glibc's per-thread cache serves these without a lock, and the interrupted code
// uses another size class: the handler's own calls are safe on bare glibc.
void on_signal_allocates(int) {
  const int saved = errno;
  for (int i = 0; i < 20; ++i) free(opaque(malloc(1000)));
  handled = handled + 1;
  errno = saved;
}

void warm_up() {
  for (int i = 0; i < 100; ++i) free(opaque(malloc(1000)));
}

void allocating_handler() {
  warm_up();
  install(SIGPROF, on_signal_allocates, SA_RESTART);
  set_timer(500);
  work_until(25);
  set_timer(0);
}

/// 5,000 signals a second, as far as the processor is ours.
timer_t fast_timer{};

void start_fast_timer() {
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGPROF;
  EXPECT(timer_create(CLOCK_MONOTONIC, &event, &fast_timer) == 0);
  itimerspec period = {};
  period.it_interval.tv_nsec = period.it_value.tv_nsec = 200'000;
  EXPECT(timer_settime(fast_timer, 0, &period, nullptr) == 0);
}

/// The handler itself ends the timer: one that takes longer than the period leaves the
/// code it interrupts no instruction.
void on_fast_signal(int signal) {
  on_signal_allocates(signal);
  const itimerspec never = {};
  if (handled >= 600) timer_settime(fast_timer, 0, &never, nullptr);
}

/// Time passes without allocations, or a recording of each would be long.
void pause_and_allocate(std::size_t size) {
  for (volatile int i = 0; i < 1000;) i = i + 1;
  free(opaque(malloc(size)));
}

void allocating_handler_fast() {
  warm_up();
  install(SIGPROF, on_fast_signal, SA_RESTART);
  start_fast_timer();
  while (handled < 600) pause_and_allocate(500);
  timer_delete(fast_timer);
}

void on_signal_forks(int) {
  const int saved = errno;
  const pid_t child = fork();
  if (child == 0) _exit(9);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 9) handled = handled + 1;
  errno = saved;
}

void forking_handler() {
  // One thread: glibc takes no lock of malloc in such a fork.
  install(SIGPROF, on_signal_forks, SA_RESTART);
  set_timer(3000);
  while (handled < 30) pause_and_allocate(500);
  set_timer(0);
}

alignas(16) char alternate[128 << 10];

void alternate_stack() {
  warm_up();
  stack_t stack = {};
  stack.ss_sp = alternate;
  stack.ss_size = sizeof alternate;
  sigaltstack(&stack, nullptr);
  install(SIGPROF, on_signal_allocates, SA_RESTART | SA_ONSTACK);
  set_timer(500);
  work_until(20);
  set_timer(0);
}

sigjmp_buf escape;
volatile sig_atomic_t may_escape = 0;

std::uintptr_t library_start = 0, library_end = 0;

/// Where the C library's code lies. Jumping out of its malloc would be the
/// program's own error; jumping out of an interposer's code is not.
int find_library(dl_phdr_info* info, std::size_t, void*) {
  if (strstr(info->dlpi_name, "libc.so.6") == nullptr) return 0;
  library_start = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD)
      library_end = info->dlpi_addr + segment.p_vaddr + segment.p_memsz;
  }
  return 1;
}

void on_signal_jumps(int, siginfo_t*, void* context) {
  const auto registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto at = static_cast<std::uintptr_t>(registers[REG_RIP]);
  if (may_escape != 0 && (at < library_start || at >= library_end)) siglongjmp(escape, 1);
}

void jumps_out() {
  dl_iterate_phdr(find_library, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = on_signal_jumps;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGPROF, &action, nullptr);
  set_timer(1000);
  static int jumps;  // static: a jump back would leave an automatic variable undefined
  for (jumps = 0; jumps < 10; ++jumps) {
    if (sigsetjmp(escape, 1) == 0) {
      may_escape = 1;
      for (;;) free(opaque(malloc(24)));
    }
    may_escape = 0;
  }
  set_timer(0);
  for (int i = 0; i < 10000; ++i) free(opaque(malloc(500)));
}

void* fault_address = nullptr;
sigjmp_buf fault_escape;

void on_fault(int, siginfo_t* info, void*) {
  fault_address = info->si_addr;
  free(opaque(malloc(100)));
  siglongjmp(fault_escape, 1);
}

void faults() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  static std::uintptr_t i;  // static: see jumps_out
  for (i = 1; i <= 50; ++i) {
    if (sigsetjmp(fault_escape, 1) == 0) *opaque(reinterpret_cast<volatile char*>(i * 8)) = 1;
    EXPECT(reinterpret_cast<std::uintptr_t>(fault_address) == i * 8);
    free(opaque(malloc(5000)));
  }
}

void signal_waits() {
  // The only receiver of a blocked signal is the thread that waits for it.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread waiter([&set] {
    for (int i = 0; i < 50; ++i) {
      int signal = 0;
      sigwait(&set, &signal);
      free(opaque(malloc(1000)));
      handled = handled + 1;
    }
  });
  for (int i = 0; i < 50; ++i) {
    kill(getpid(), SIGUSR1);
    while (handled <= i) free(opaque(malloc(300)));
  }
  waiter.join();
}

ucontext_t main_context;
ucontext_t fibers[4];
int fiber_steps = 0;

void fiber_body(int index) {
  for (int i = 0; i < 200; ++i) {
    void* block = opaque(malloc(static_cast<std::size_t>(700 + index)));
    ++fiber_steps;
    swapcontext(&fibers[index], &fibers[(index + 1) % 4]);
    free(block);
  }
}

void contexts() {
  for (int i = 0; i < 4; ++i) {
    getcontext(&fibers[i]);
    fibers[i].uc_stack.ss_size = 64 << 10;
    fibers[i].uc_stack.ss_sp = malloc(fibers[i].uc_stack.ss_size);
    fibers[i].uc_link = &main_context;
    makecontext(&fibers[i], reinterpret_cast<void (*)()>(fiber_body), 1, i);
  }
  swapcontext(&main_context, &fibers[0]);
  std::printf("%d steps\n", fiber_steps);
}

void mask_is_kept() {
  for (int i = 0; i < 2000; ++i) free(opaque(malloc(5000)));
  sigset_t set;
  pthread_sigmask(SIG_BLOCK, nullptr, &set);
  for (int signal = 1; signal < 32; ++signal) {
    struct sigaction action = {};
    sigaction(signal, nullptr, &action);
    std::printf("%d blocked %d handler %d\n", signal, sigismember(&set, signal),
                action.sa_handler != SIG_DFL);
  }
}

constexpr Scenario kScenarios[] = {
    {"plain", plain},
    {"allocating_handler", allocating_handler},
    {"allocating_handler_fast", allocating_handler_fast},
    {"forking_handler", forking_handler},
    {"alternate_stack", alternate_stack},
    {"jumps_out", jumps_out},
    {"faults", faults},
    {"signal_waits", signal_waits},
    {"contexts", contexts},
    {"mask_is_kept", mask_is_kept},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(argc, argv, kScenarios); }
