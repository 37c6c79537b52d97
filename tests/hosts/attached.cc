// A process to attach to. Counts what it asks for itself, so that a recording from some
// instant on can be compared with the truth.
//
//   attached loops THREADS       threads allocate and free without a pause
//   attached dlopen LIBRARY      the same, while one thread loads and unloads it
//   attached fibers              contexts on stacks of 16 KiB that swap and allocate
//   attached sleep MILLISECONDS  one nanosleep; prints its result and the time left
//   attached handler             allocates in a handler of a timer signal, and outside
//
// Prints "ready" first, then answers each line on its input with the bytes asked for so far
// and the calls that failed, as "BYTES FAILED"; ends at the end of input with "done".
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

std::atomic<unsigned long> bytes{0}, failed{0};
std::atomic<bool> is_over{false};

/// A block with a mark at both ends, checked before it goes.
void churn(unsigned& seed) {
  static constexpr int kBlocks = 16;
  char* blocks[kBlocks];
  size_t sizes[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    seed = seed * 1664525 + 1013904223;
    sizes[i] = 64 + (seed >> 16) % 4000;
    errno = 77;
    blocks[i] = static_cast<char*>(malloc(sizes[i]));
    if (blocks[i] == nullptr || errno != 77) {
      ++failed;
      return;
    }
    blocks[i][0] = blocks[i][sizes[i] - 1] = static_cast<char>(i);
    bytes.fetch_add(sizes[i], std::memory_order_relaxed);
  }
  for (int i = 0; i < kBlocks; ++i) {
    if (blocks[i][0] != i || blocks[i][sizes[i] - 1] != i) ++failed;
    free(blocks[i]);
  }
}

void loop(unsigned seed) {
  while (!is_over.load(std::memory_order_relaxed)) churn(seed);
}

void load_and_unload([[maybe_unused]] const char* library) {
  unsigned seed = 9;
  while (!is_over.load(std::memory_order_relaxed)) {
#ifdef ATTACHED_STATIC
    void* handle = nullptr;
#else
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
#endif
    if (handle == nullptr) ++failed;
    churn(seed);
#ifndef ATTACHED_STATIC
    if (handle != nullptr) dlclose(handle);
#endif
  }
}

ucontext_t home, fibers[2];

void run_fiber(int self) {
  unsigned seed = static_cast<unsigned>(self);
  while (!is_over.load(std::memory_order_relaxed)) {
    churn(seed);
    swapcontext(&fibers[self], &fibers[1 - self]);
  }
}

void run_fibers() {
  static constexpr size_t kStack = 16 * 1024;
  for (int i = 0; i < 2; ++i) {
    getcontext(&fibers[i]);
    fibers[i].uc_stack.ss_sp = malloc(kStack);
    fibers[i].uc_stack.ss_size = kStack;
    fibers[i].uc_link = &home;
    makecontext(&fibers[i], reinterpret_cast<void (*)()>(run_fiber), 1, i);
  }
  swapcontext(&home, &fibers[0]);
}

void sleep_once(long milliseconds) {
  timespec time{milliseconds / 1000, milliseconds % 1000 * 1000000};
  timespec before{}, after{}, left{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  const int result = nanosleep(&time, &left);
  clock_gettime(CLOCK_MONOTONIC, &after);
  const long slept =
      (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
  printf("%d %d\n", result, slept >= milliseconds);
  fflush(stdout);
}

/// The thread's own allocations stand still while its handler makes some.
void on_timer(int) {
  const int saved = errno;
  static volatile sig_atomic_t is_inside = 0;
  if (is_inside) ++failed;
  is_inside = 1;
  is_inside = 0;
  errno = saved;
}

void run_handler() {
  struct sigaction action {};
  action.sa_handler = on_timer;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often{{0, 500}, {0, 500}};
  setitimer(ITIMER_REAL, &often, nullptr);
  loop(5);
}

void answer() {
  char line[64];
  while (fgets(line, sizeof line, stdin) != nullptr) {
    printf("%lu %lu\n", bytes.load(), failed.load());
    fflush(stdout);
  }
  is_over = true;
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "loops";
  puts("ready");
  fflush(stdout);
  std::vector<std::thread> threads;
  if (strcmp(what, "loops") == 0) {
    const int count = argc > 2 ? atoi(argv[2]) : 1;
    for (int i = 0; i < count; ++i) threads.emplace_back(loop, 100 + i);
  } else if (strcmp(what, "dlopen") == 0 && argc > 2) {
    threads.emplace_back(load_and_unload, argv[2]);
    threads.emplace_back(loop, 100);
  } else if (strcmp(what, "fibers") == 0) {
    threads.emplace_back(run_fibers);
  } else if (strcmp(what, "handler") == 0) {
    threads.emplace_back(run_handler);
  } else if (strcmp(what, "sleep") == 0 && argc > 2) {
    sleep_once(atol(argv[2]));
  }
  answer();
  for (std::thread& thread : threads) thread.join();
  puts("done");
  return failed.load() == 0 ? 0 : 3;
}
