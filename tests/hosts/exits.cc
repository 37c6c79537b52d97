// Every way to end a process, with allocations up to the last moment.
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <thread>

#include "scenario.h"

namespace {

void churn(int rounds) {
  for (int i = 0; i < rounds; ++i) free(opaque(malloc(static_cast<std::size_t>(i % 3000))));
}

void say(const char* text) {
  std::printf("%s\n", text);
  std::fflush(stdout);
}

struct Global {
  char* text = static_cast<char*>(opaque(malloc(10000)));
  ~Global() {
    churn(1000);
    free(text);
    say("global destroyed");
  }
} global;

void returns() { churn(5000); }

void at_exit() {
  std::atexit([] {
    churn(1000);
    say("first handler");
  });
  std::atexit([] {
    churn(1000);
    say("second handler");
    std::atexit([] { churn(1000); });
  });
  churn(5000);
}

void exit_code() {
  churn(5000);
  std::exit(42);
}

void immediate() {
  churn(5000);
  say("leaving at once");
  _exit(43);
}

void quick() {
  std::at_quick_exit([] {
    churn(100);
    say("quick handler");
  });
  churn(5000);
  std::quick_exit(44);
}

void aborts() {
  churn(5000);
  say("aborting");
  std::abort();
}

void terminates() {
  std::set_terminate([] {
    churn(100);
    say("terminating");
    std::abort();
  });
  churn(5000);
  throw std::runtime_error("nobody catches this");
}

void killed() {
  churn(5000);
  say("killing myself");
  raise(SIGKILL);
}

void faults() {
  churn(5000);
  say("faulting");
  *opaque(reinterpret_cast<volatile int*>(16)) = 1;
}

void main_thread_first() {
  // main ends, another thread goes on and ends the process.
  pthread_t main_thread = pthread_self();
  std::thread([main_thread] {
    pthread_join(main_thread, nullptr);
    churn(5000);
    say("outlived main");
    std::exit(45);
  }).detach();
  churn(5000);
  pthread_exit(nullptr);
}

void last_thread_returns() {
  std::thread([] {
    usleep(20000);
    churn(5000);
    say("last thread");
  }).detach();
  pthread_exit(nullptr);
}

void thread_exits() {
  std::thread([] {
    churn(5000);
    std::exit(46);
  }).detach();
  for (;;) pause();
}

void others_still_run() {
  for (int i = 0; i < 4; ++i)
    std::thread([] {
      for (;;) churn(1000);
    }).detach();
  usleep(20000);
  std::exit(47);
}

constexpr Scenario kScenarios[] = {
    {"returns", returns},
    {"at_exit", at_exit},
    {"exit_code", exit_code},
    {"immediate", immediate},
    {"quick", quick},
    {"aborts", aborts},
    {"terminates", terminates},
    {"killed", killed},
    {"faults", faults},
    {"main_thread_first", main_thread_first},
    {"last_thread_returns", last_thread_returns},
    {"thread_exits", thread_exits},
    {"others_still_run", others_still_run},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(argc, argv, kScenarios); }
