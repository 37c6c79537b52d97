// A host program is a list of scenarios. `PROGRAM NAME` runs one, `PROGRAM list`
// prints the names. A scenario prints what it saw and must print the same, and
// exit the same, with and without the runtime.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstring>

struct Scenario {
  const char* name;
  void (*run)();
};

template <int Count>
int run_scenario(int argc, char** argv, const Scenario (&scenarios)[Count]) {
  if (argc < 2) return 2;
  const bool is_list = std::strcmp(argv[1], "list") == 0;
  for (const Scenario& scenario : scenarios) {
    if (is_list) std::puts(scenario.name);
    if (!is_list && std::strcmp(argv[1], scenario.name) == 0) {
      scenario.run();
      std::printf("%s: done\n", scenario.name);
      return 0;
    }
  }
  std::fflush(stdout);
  _exit(is_list ? 0 : 2);  // no handler of the program may add to the list
}

/// Keeps the compiler from knowing where a pointer came from, or that it is dead.
template <typename T>
inline T* opaque(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

/// Prints a failed expectation; the difference shows in the output.
#define EXPECT(condition)                                                                 \
  do {                                                                                    \
    if (!(condition)) std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
  } while (false)
