// A chain of blocks whose first one only a register of a running thread points to, and a thread in
// a wait that any stop ends: if that happens it says "interrupted". Says "ready" before.
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

struct Block {
  Block* next;
  char rest[40];
};

namespace {

constexpr int kBlocks = 50;
std::atomic<int> g_started{0};

__attribute__((noinline)) Block* by_register(Block* next) {
  auto* block = static_cast<Block*>(std::malloc(sizeof(Block)));
  block->next = next;
  return block;
}

__attribute__((noinline)) void wipe_stack() {
  volatile char bytes[65536];
  for (volatile char& byte : bytes) byte = 0;
}

void spin() {
#if defined(__x86_64__)
  register Block* first asm("r12") = nullptr;
#else
  register Block* first asm("x20") = nullptr;
#endif
  for (int i = 0; i < kBlocks; ++i) {
    first = by_register(first);
    asm volatile("" : "+r"(first));
  }
  wipe_stack();
  ++g_started;
  for (;;) asm volatile("" : "+r"(first)::"memory");
}

void wait() {
  constexpr int kLong = 3'600'000;
  const int poll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  ++g_started;
  epoll_wait(poll, &event, 1, kLong);
  std::puts("interrupted");
  std::fflush(stdout);
}

}  // namespace

int main() {
  std::thread(spin).detach();
  std::thread(wait).detach();
  while (g_started < 2) usleep(1000);
  std::puts("ready");
  std::fflush(stdout);
  for (;;) pause();
}
