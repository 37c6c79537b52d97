// Every way to make a process, with allocations before, in the child and after.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "scenario.h"

namespace {

/// Allocates and frees about `bytes` bytes and returns a value that depends on all.
unsigned churn(std::size_t bytes) {
  unsigned sum = 0;
  for (std::size_t done = 0; done < bytes; done += 200) {
    auto* block = static_cast<unsigned char*>(opaque(malloc(200)));
    block[0] = static_cast<unsigned char>(done);
    sum += block[0];
    free(block);
  }
  return sum;
}

void report(const char* what, int status) {
  if (WIFEXITED(status)) std::printf("%s exited %d\n", what, WEXITSTATUS(status));
  if (WIFSIGNALED(status)) std::printf("%s died of %d\n", what, WTERMSIG(status));
}

void wait_for(const char* what, pid_t child) {
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  report(what, status);
}

void forks() {
  for (int round = 0; round < 20; ++round) {
    void* inherited = opaque(malloc(50000));
    const pid_t child = fork();
    if (child == 0) {
      free(inherited);
      _exit(churn(1 << 20) != 0 ? 7 : 8);
    }
    free(inherited);
    churn(1 << 18);
    wait_for("child", child);
  }
}

void fork_exit() {
  std::fflush(stdout);
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      churn(1 << 20);
      std::printf("child %d through exit\n", round);
      std::exit(round);
    }
    wait_for("child", child);
  }
}

void fork_deep() {
  // Each generation forks the next and exits with its depth.
  int depth = 0;
  pid_t child = 0;
  while (depth < 6 && (child = fork()) == 0) {
    ++depth;
    churn(1 << 18);
  }
  if (child != 0) wait_for("generation", child);
  if (depth > 0) {
    std::fflush(stdout);
    _exit(depth);
  }
}

std::atomic<bool> stop_threads{false};

void fork_threads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([] {
      while (!stop_threads) churn(1 << 16);
    });
  for (int round = 0; round < 15; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      churn(1 << 18);
      _exit(3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  }
  stop_threads = true;
  for (std::thread& thread : threads) thread.join();
}

pthread_mutex_t handler_mutex = PTHREAD_MUTEX_INITIALIZER;

void fork_handlers() {
  // An atfork handler that takes a lock under which its threads allocate.
  pthread_atfork(
      [] {
        pthread_mutex_lock(&handler_mutex);
        free(opaque(malloc(100)));
      },
      [] { pthread_mutex_unlock(&handler_mutex); },
      [] {
        free(opaque(malloc(100)));
        pthread_mutex_unlock(&handler_mutex);
      });
  std::thread worker([] {
    while (!stop_threads) {
      pthread_mutex_lock(&handler_mutex);
      churn(2000);
      pthread_mutex_unlock(&handler_mutex);
    }
  });
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      churn(1 << 16);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop_threads = true;
  worker.join();
}

void vforks() {
  for (int round = 0; round < 20; ++round) {
    // NOLINTNEXTLINE: what is tested is that a vfork child may allocate under us
    const pid_t child = vfork();
    if (child == 0) {
      free(opaque(malloc(100000)));
      execl("/bin/true", "true", static_cast<char*>(nullptr));
      _exit(127);
    }
    churn(1 << 16);
    wait_for("vfork child", child);
  }
}

int clone_child(void*) {
  churn(1 << 18);
  return 5;
}

void clones_with(const char* what, int flags) {
  constexpr std::size_t kStack = 256 << 10;
  for (int round = 0; round < 10; ++round) {
    auto* stack = static_cast<char*>(mmap(nullptr, kStack, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0));
    const pid_t child = clone(clone_child, stack + kStack, flags | SIGCHLD, nullptr);
    EXPECT(child > 0);
    wait_for(what, child);
    munmap(stack, kStack);
  }
}

void clones() { clones_with("clone", 0); }
void clones_sharing_memory() { clones_with("clone with CLONE_VM", CLONE_VM | CLONE_VFORK); }

void raw_fork() {
  for (int round = 0; round < 10; ++round) {
    const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    if (child == 0) _exit(churn(1 << 18) != 0 ? 9 : 10);
    wait_for("raw clone", child);
  }
}

void bare_fork() {
  // Runs no fork handler.
  for (int round = 0; round < 10; ++round) {
    const pid_t child = _Fork();
    if (child == 0) _exit(churn(1 << 18) != 0 ? 9 : 10);
    wait_for("bare fork", child);
  }
}

long inline_fork() {
  long result = SYS_fork;
  asm volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
  return result;
}

void inline_forks() {
  // These have no effect before the child allocates.
  for (int round = 0; round < 10; ++round) {
    const auto child = static_cast<pid_t>(inline_fork());
    if (child == 0) _exit(churn(1 << 18) != 0 ? 9 : 10);
    wait_for("inline fork", child);
  }
}

extern "C" char** environ;

void spawns() {
  for (int round = 0; round < 10; ++round) {
    pid_t child = 0;
    char name[] = "sh", option[] = "-c", text[] = "echo spawned; exit 4";
    char* arguments[] = {name, option, text, nullptr};
    std::fflush(stdout);
    EXPECT(posix_spawn(&child, "/bin/sh", nullptr, nullptr, arguments, environ) == 0);
    wait_for("spawned", child);
  }
  std::fflush(stdout);
  EXPECT(system("echo from system") == 0);
  FILE* pipe = popen("echo from popen", "r");
  char line[64] = "";
  EXPECT(fgets(line, sizeof line, pipe) != nullptr);
  std::printf("%sstatus %d\n", line, pclose(pipe));
}

void exec_fails() {
  const pid_t child = fork();
  if (child == 0) {
    execl("/nonexistent", "nonexistent", static_cast<char*>(nullptr));
    churn(1 << 18);
    _exit(11);
  }
  wait_for("failed exec", child);
}

void execs_itself() {
  const char* rounds = getenv("EXEC_ROUNDS");
  const int left = rounds != nullptr ? atoi(rounds) : 4;
  churn(1 << 18);
  std::printf("image with %d to go\n", left);
  std::fflush(stdout);
  if (left == 0) return;
  setenv("EXEC_ROUNDS", std::to_string(left - 1).c_str(), 1);
  execl("/proc/self/exe", "processes", "execs_itself", static_cast<char*>(nullptr));
  std::printf("exec failed\n");
}

void empty_environment() {
  char name[] = "sh", option[] = "-c", text[] = "echo bare child";
  char* arguments[] = {name, option, text, nullptr};
  char* none[] = {nullptr};
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execve("/bin/sh", arguments, none);
    _exit(127);
  }
  wait_for("child without environment", child);
}

void descriptors() {
  // A child finds exactly the descriptors that the program gave it.
  std::fflush(stdout);
  EXPECT(system("ls /proc/self/fd | wc -l") == 0);
  const int opened = open("/dev/null", O_RDONLY);
  std::printf("next descriptor %d\n", opened);
}

constexpr Scenario kScenarios[] = {
    {"forks", forks},
    {"fork_exit", fork_exit},
    {"fork_deep", fork_deep},
    {"fork_threads", fork_threads},
    {"fork_handlers", fork_handlers},
    {"vforks", vforks},
    {"clones", clones},
    {"clones_sharing_memory", clones_sharing_memory},
    {"raw_fork", raw_fork},
    {"bare_fork", bare_fork},
    {"inline_forks", inline_forks},
    {"spawns", spawns},
    {"exec_fails", exec_fails},
    {"execs_itself", execs_itself},
    {"empty_environment", empty_environment},
    {"descriptors", descriptors},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(argc, argv, kScenarios); }
