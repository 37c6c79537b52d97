// Loops that allocate from free lists, for counting instructions.
//
//   list_loops LOOP COUNT INTERVAL|plain
//
// LOOP is constant or sized, which allocate from one list that is long enough, or pairs, which also
// frees what is 256 objects old, so that every list of 256 is followed by another. INTERVAL 0 is
// sampling off. Prints the number of samples. The functions fast_* hold nothing but the fast path;
// a test reads their code.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "free_lists.h"
#include "geiger/sampling/logarithm.h"

namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kBlocks = std::size_t{1} << 18;
constexpr std::size_t kLive = 256;
constexpr std::size_t kStep = 16;
constexpr std::size_t kClasses = 9;  // To 128 bytes.

volatile std::size_t g_size = kBlock;

template <class Pointer>
void use(Pointer pointer) {
  asm volatile("" : : "r"(pointer) : "memory");
}

template <class List>
struct Heap {
  List lists[kClasses];

  void* allocate(std::size_t size) { return lists[(size + kStep - 1) / kStep].allocate(size); }
};

using PlainHeap = Heap<PlainFreeList>;
using SampledHeap = Heap<SampledFreeList>;

}  // namespace

extern "C" {
[[gnu::noinline]] void* fast_constant(SampledFreeList& list) { return list.allocate(kBlock); }
[[gnu::noinline]] void* fast_sized(SampledHeap& heap, std::size_t size) {
  return heap.allocate(size);
}
[[gnu::noinline]] void* plain_constant(PlainFreeList& list) { return list.allocate(kBlock); }
[[gnu::noinline]] void* plain_sized(PlainHeap& heap, std::size_t size) {
  return heap.allocate(size);
}
}

namespace {

void* constant_of(SampledFreeList& list) { return fast_constant(list); }
void* constant_of(PlainFreeList& list) { return plain_constant(list); }
void* sized_of(SampledHeap& heap) { return fast_sized(heap, g_size); }
void* sized_of(PlainHeap& heap) { return plain_sized(heap, g_size); }

template <class List>
bool run(const char* loop, long count, Heap<List>& heap) {
  List& list = heap.lists[kBlock / kStep];
  const std::size_t blocks = std::strcmp(loop, "pairs") == 0 ? 2 * kLive : kBlocks;
  std::vector<char> memory(kBlock * blocks);
  for (std::size_t i = 0; i < blocks; ++i) list.freed.push(&memory[i * kBlock]);
  if (std::strcmp(loop, "constant") == 0) {
    for (long i = 0; i < count; ++i) use(constant_of(list));
  } else if (std::strcmp(loop, "sized") == 0) {
    for (long i = 0; i < count; ++i) use(sized_of(heap));
  } else if (std::strcmp(loop, "pairs") == 0) {
    void* live[kLive]{};
    for (long i = 0; i < count; ++i) {
      void*& oldest = live[static_cast<std::size_t>(i) % kLive];
      if (oldest != nullptr) list.freed.push(oldest);
      oldest = constant_of(list);
    }
  } else {
    return false;
  }
  return true;
}

bool run_sampled(const char* loop, long count, std::uint64_t interval) {
  ListSampling sampling;
  sampling.sampler.start(1, interval, geiger::sampling::rate_of(interval), false);
  SampledHeap heap;
  for (std::size_t i = 1; i < kClasses; ++i) {
    heap.lists[i].sampling = &sampling;
    sampling.sampler.open(heap.lists[i].list, i * kStep);
  }
  const bool is_known = run(loop, count, heap);
  std::printf("%lu\n", static_cast<unsigned long>(sampling.samples));
  return is_known;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const long times = std::atol(arguments[2]);
  if (std::strcmp(arguments[3], "plain") != 0) {
    return run_sampled(arguments[1], times, std::strtoull(arguments[3], nullptr, 10)) ? 0 : 2;
  }
  PlainHeap heap;
  return run(arguments[1], times, heap) ? 0 : 2;
}
