// Cost of stack walks, printed as ns per walk and per frame.
//
//   cmake --build build --target unwind_bench && build/bin/unwind_bench [checked]
//
// Modules are known from the start, as under preload; with `checked` every module
// counts as loaded later, so that each change of module is checked against the
// loader. "miss": rules of random pcs in libc, tables in memory.
// Each figure is the least of 15 runs, in CPU time.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <vector>

#include "runtime/unwind/modules.h"
#include "runtime/unwind/rules.h"
#include "runtime/unwind/unwind.h"

namespace {

using namespace geiger::unwind;

double thread_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

template <class Body>
double least_nanoseconds(int repeats, Body body) {
  double least = 1e300;
  for (int run = 0; run < 15; ++run) {
    const double start = thread_nanoseconds();
    for (int i = 0; i < repeats; ++i) body();
    least = std::min(least, (thread_nanoseconds() - start) / repeats);
  }
  return least;
}

[[gnu::noinline]] void measure() {
  const Registers start = caller_registers();
  std::uint64_t frames[255];
  Trace trace{frames, 255};
  const StackBounds bounds{start.sp, start.sp + (1 << 16)};
  const double took = least_nanoseconds(2'000, [&] { walk(start, bounds, Mode::kAuto, trace); });
  std::printf("%3zu frames %7.1f ns %6.2f ns/frame%s\n", trace.count, took,
              took / static_cast<double>(trace.count), trace.truncated ? " truncated" : "");
}

volatile int g_sink;

// Frames of different functions, so that they do not share one cache line.
template <int Kind>
[[gnu::noinline]] void recurse(int depth) {
  if (depth == 0) {
    measure();
  } else {
    recurse<(Kind + 1) % 16>(depth - 1);
  }
  g_sink = Kind;
}

void measure_misses() {
  const auto libc = reinterpret_cast<std::uint64_t>(qsort);
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> pcs(20'000);
  for (auto& pc : pcs) pc = libc + random() % 0x80000;
  std::uint64_t sum = 0;
  const double took = least_nanoseconds(1, [&] {
    Rules rules;
    StackMemory stack({0, 0}, 0);
    for (const std::uint64_t pc : pcs) sum += rules.find(pc, {}, stack).bits();
  });
  g_sink = static_cast<int>(sum);
  std::printf("miss %.1f ns\n", took / static_cast<double>(pcs.size()));
}

}  // namespace

int main(int count, char** arguments) {
  const bool is_checked = count > 1 && std::strcmp(arguments[1], "checked") == 0;
  is_checked ? find_loader_lookup() : init();
  for (const int depth : {5, 25, 95}) recurse<0>(depth);
  measure_misses();
}
