// Leaves in the way that it is told, with blocks that a static container holds, which its
// destructor frees, and blocks that are lost. Each kind is allocated in a function of its own name.
//
// usage: leaving return|exit|thread|_exit|quick_exit|abort|fork|waited
//   thread: another thread calls exit(), while main waits. fork: so does a child, before.
//   waited: when a line comes on standard input.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr int kBlocks = 50, kStatus = 7;

template <class T>
T* opaque(T* pointer) {
  asm volatile("" : "+r"(pointer)::"memory");
  return pointer;
}

__attribute__((noinline, no_icf)) void* kept() { return opaque(std::malloc(48)); }
__attribute__((noinline, no_icf)) void* lost() { return opaque(std::malloc(56)); }
__attribute__((noinline, no_icf)) void* of_child() { return opaque(std::malloc(64)); }

__attribute__((noinline)) void wipe_stack() {
  volatile char bytes[65536];
  for (volatile char& byte : bytes) byte = 0;
}

__attribute__((noinline)) void lose() {
  for (int i = 0; i < kBlocks; ++i) lost();
}

__attribute__((noinline)) void lose_in_child() {
  for (int i = 0; i < kBlocks; ++i) of_child();
}

}  // namespace

struct Kept {
  std::vector<void*> blocks;
  ~Kept() {
    for (void* block : blocks) std::free(block);
    std::puts("destroyed");
    std::fflush(stdout);
  }
} g_kept;

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  std::atexit([] {
    std::puts("at exit");
    std::fflush(stdout);
  });
  for (int i = 0; i < kBlocks; ++i) g_kept.blocks.push_back(kept());
  lose();
  wipe_stack();
  std::puts("ready");
  std::fflush(stdout);
  if (how == "fork") {
    const pid_t child = fork();
    if (child == 0) {
      lose_in_child();
      wipe_stack();
      std::exit(kStatus + 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child %d\n", WEXITSTATUS(status));
    std::fflush(stdout);
  }
  if (how == "waited") std::getchar();
  if (how == "exit") std::exit(kStatus);
  if (how == "_exit") _exit(kStatus);
  if (how == "quick_exit") std::quick_exit(kStatus);
  if (how == "abort") std::abort();
  if (how == "thread") {
    std::thread([] { std::exit(kStatus); }).detach();
    for (;;) pause();
  }
  return kStatus;
}
