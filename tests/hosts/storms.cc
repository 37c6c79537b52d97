// Much of one thing at once, for tests/storms.py:
//
//   storms processes FORKS VFORKS SPAWNS   children of four allocating threads
//   storms modules CYCLES                  dlopen and dlclose
//   storms threads ALIVE CREATED STEP      ALIVE at once, then CREATED one after another
//
// A line "at N" is followed by a wait for a line of input: the test looks from outside.
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "scenario.h"

namespace {

std::atomic<bool> is_over{false};
const char* self = nullptr;  // this program, which allocates once when told so

void churn(int rounds) {
  for (int i = 0; i < rounds; ++i) free(opaque(malloc(16 + static_cast<std::size_t>(i % 900))));
}

void wait_for_reader(long at) {
  std::printf("at %ld\n", at);
  std::fflush(stdout);
  std::getchar();
}

/// Waits for a child; counts it if it exited with `expected`.
struct Ended {
  long as_expected = 0;
  void wait(pid_t child, int expected) {
    int status = 0;
    if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
        WEXITSTATUS(status) == expected)
      ++as_expected;
  }
};

void fork_once(long i, Ended& ended) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    // Every other child allocates, and so has a trace of its own.
    if (i % 2 == 0) churn(200);
    _exit(i % 2 == 0 ? 3 : 4);
  }
  ended.wait(child, i % 2 == 0 ? 3 : 4);
}

void vfork_once(Ended& ended) {
  // NOLINTNEXTLINE: it is what is tested
  const pid_t child = vfork();
  if (child == 0) {
    execl(self, "storms", "once", static_cast<char*>(nullptr));
    _exit(127);
  }
  ended.wait(child, 0);
}

extern "C" char** environ;

void spawn_once(Ended& ended) {
  char name[] = "storms", once[] = "once";
  char* arguments[] = {name, once, nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, self, nullptr, nullptr, arguments, environ) != 0) return;
  ended.wait(child, 0);
}

int processes(char** counts) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      while (!is_over) churn(1000);
    });
  Ended forks, vforks, spawns;
  for (long i = 0; i < atol(counts[0]); ++i) fork_once(i, forks);
  for (long i = 0; i < atol(counts[1]); ++i) vfork_once(vforks);
  for (long i = 0; i < atol(counts[2]); ++i) spawn_once(spawns);
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("forks %ld vforks %ld spawns %ld\n", forks.as_expected, vforks.as_expected,
              spawns.as_expected);
  return 0;
}

int modules(long cycles) {
  const std::string path = self;
  const std::string plugin = path.substr(0, path.rfind('/')) + "/libplugin.so";
  long good = 0;
  for (long i = 0; i < cycles; ++i) {
    void* handle = dlopen(plugin.c_str(), RTLD_NOW);
    if (handle == nullptr) continue;
    auto allocate = reinterpret_cast<void* (*)(std::size_t)>(dlsym(handle, "plugin_allocate"));
    void* block = allocate(5000);
    good += block != nullptr && dlclose(handle) == 0 ? 1 : 0;
    free(block);
    if (i + 1 == cycles / 10) wait_for_reader(i + 1);
  }
  wait_for_reader(cycles);
  std::printf("cycles %ld\n", good);
  return 0;
}

std::atomic<long> arrived{0};

void* allocates_and_waits(void*) {
  churn(20);
  ++arrived;
  is_over.wait(false);
  churn(20);
  return nullptr;
}

void* allocates(void*) {
  churn(20);
  return nullptr;
}

pthread_t start(void* (*body)(void*)) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16384);
  pthread_t thread{};
  while (pthread_create(&thread, &attributes, body, nullptr) != 0) usleep(1000);
  pthread_attr_destroy(&attributes);
  return thread;
}

void threads_at_once(long alive) {
  std::vector<pthread_t> threads;
  for (long i = 0; i < alive; ++i) threads.push_back(start(allocates_and_waits));
  while (arrived < alive) usleep(1000);
  is_over = true;
  is_over.notify_all();
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
}

int threads(char** counts) {
  const long alive = atol(counts[0]), created = atol(counts[1]), step = atol(counts[2]);
  threads_at_once(alive);
  wait_for_reader(alive);
  constexpr long kTogether = 50;
  for (long done = 0; done < created; done += kTogether) {
    pthread_t group[kTogether];
    for (pthread_t& thread : group) thread = start(allocates);
    for (const pthread_t thread : group) pthread_join(thread, nullptr);
    if ((done + kTogether) % step == 0) wait_for_reader(alive + done + kTogether);
  }
  std::printf("threads %ld\n", alive + created);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  free(opaque(malloc(100)));
  self = argv[0];
  if (argc == 2 && strcmp(argv[1], "once") == 0) return 0;
  if (argc == 5 && strcmp(argv[1], "processes") == 0) return processes(argv + 2);
  if (argc == 3 && strcmp(argv[1], "modules") == 0) return modules(atol(argv[2]));
  if (argc == 5 && strcmp(argv[1], "threads") == 0) return threads(argv + 2);
  return 2;
}
