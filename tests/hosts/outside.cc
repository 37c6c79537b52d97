// Blocks to which nothing in the program's writable memory points: the kernel has their addresses,
// as data of an epoll descriptor or as values of timers, or a page that was made read-only. Says
// "ready", and waits to be killed.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>

namespace {

constexpr int kBlocks = 50;

#define KIND(name)                                                       \
  __attribute__((noinline, no_icf)) void* name(std::size_t bytes = 48) { \
    void* block = std::malloc(bytes);                                    \
    asm volatile("" : "+r"(block)::"memory");                            \
    return block;                                                        \
  }
KIND(by_epoll)
KIND(by_timer)
KIND(by_sealed)
KIND(lost)
KIND(lost_below_stack)

__attribute__((noinline)) void allocate(int epoll, void** page) {
  for (int i = 0; i < kBlocks; ++i) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = by_epoll();
    epoll_ctl(epoll, EPOLL_CTL_ADD, eventfd(0, 0), &event);
    sigevent told{};
    told.sigev_notify = SIGEV_SIGNAL;
    told.sigev_signo = SIGUSR1;
    told.sigev_value.sival_ptr = by_timer();
    timer_t timer{};
    timer_create(CLOCK_MONOTONIC, &told, &timer);
    page[i] = by_sealed();
    lost();
  }
}

/// Overwrites what calls before have left on the stack.
__attribute__((noinline)) void wipe_stack() {
  volatile char bytes[65536];
  for (volatile char& byte : bytes) byte = 0;
}

/// The block often ends where the thread's stack begins, whose address the C library knows.
void lose_below_own_stack() {
  lost_below_stack(std::size_t{1} << 20);
  wipe_stack();
  while (true) pause();
}

}  // namespace

int main() {
  constexpr std::size_t kPage = 65536;
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  allocate(epoll_create1(0), static_cast<void**>(page));
  mprotect(page, kPage, PROT_READ);
  for (int i = 0; i < 8; ++i) {
    std::thread(lose_below_own_stack).detach();
    usleep(10'000);
  }
  wipe_stack();
  std::puts("ready");
  std::fflush(stdout);
  while (true) pause();
}
