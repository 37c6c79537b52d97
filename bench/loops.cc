// Allocation loops to measure with and without a profiler.
//
//   loops fix64 COUNT          malloc and free of 64 bytes
//   loops mix COUNT            random sizes 8 to 4,096 over 4,096 live slots
//   loops threads COUNT        mix on two threads
//   loops life COUNT DEPTH     pairs of malloc and free below DEPTH frames; prints ns of the
//   fastest batch loops stacks COUNT         keeps COUNT blocks allocated from 100,000 call stacks
//   loops once                 one allocation: what remains is start-up
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

template <typename T>
T* opaque(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

void fix64(long count) {
  for (long i = 0; i < count; ++i) free(opaque(malloc(64)));
}

void mix(long count) {
  constexpr unsigned kSlots = 4096;
  void** slots = static_cast<void**>(calloc(kSlots, sizeof(void*)));
  std::uint64_t state = 88172645463325252;
  for (long i = 0; i < count; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    void*& slot = slots[state % kSlots];
    free(slot);
    slot = opaque(malloc(8 + (state >> 20) % 4089));
    *static_cast<char*>(slot) = 1;
  }
  for (unsigned i = 0; i < kSlots; ++i) free(slots[i]);
  free(slots);
}

/// ns per pair of the fastest of many batches: the warm cost, free of interruptions.
double fastest_pair(long count) {
  constexpr int kBatch = 500;
  double best = 1e9;
  for (long done = 0; done < count; done += kBatch) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kBatch; ++i) free(opaque(malloc(64)));
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = time.count() / kBatch < best ? time.count() / kBatch : best;
  }
  return best;
}

[[gnu::noinline]] double life(long count, int depth) {
  const double result = depth <= 1 ? fastest_pair(count) : life(count, depth - 1);
  asm volatile("");  // no tail call: each level stays on the stack
  return result;
}

// Two functions that call each other by the bits of `path`: each path is a stack.
[[gnu::noinline]] void left(unsigned path, int depth);
[[gnu::noinline]] void right(unsigned path, int depth);

void step(unsigned path, int depth) {
  if (depth == 0) {
    opaque(malloc(100 + path % 1000));
  } else if ((path & 1) != 0) {
    right(path >> 1, depth - 1);
  } else {
    left(path >> 1, depth - 1);
  }
  asm volatile("");
}
void left(unsigned path, int depth) {
  step(path, depth);
  asm volatile("");
}
void right(unsigned path, int depth) {
  step(path, depth);
  asm volatile("nop");
}

void stacks(long count) {
  for (long i = 0; i < count; ++i) step(static_cast<unsigned>(i % 100000), 17);
}

}  // namespace

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  const long count = argc > 2 ? atol(argv[2]) : 0;
  if (strcmp(name, "fix64") == 0) {
    fix64(count);
  } else if (strcmp(name, "mix") == 0) {
    mix(count);
  } else if (strcmp(name, "threads") == 0) {
    std::thread other(mix, count);
    mix(count);
    other.join();
  } else if (strcmp(name, "life") == 0 && argc > 3) {
    printf("%.2f\n", life(count, atoi(argv[3])));
  } else if (strcmp(name, "stacks") == 0) {
    stacks(count);
  } else if (strcmp(name, "once") == 0) {
    opaque(malloc(100));
  } else {
    return 2;
  }
}
