// Allocates and frees for long, in several threads, and says at its end what truly happened:
// for recordings that are kept within bounds.
//
//   bounded THREADS OPERATIONS LIVE [STACKS [LEAST]]
//
// Each thread keeps up to LIVE blocks and replaces one per operation. Sizes are odd and from
// 3001 to 3999, which nothing else here asks for, or begin at LEAST. STACKS > 1: from so many different call
// stacks. Prints "allocations bytes live live_bytes" of all threads.
#include <pthread.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

struct Work {
  long operations;
  long live;
  long stacks;
  long least;
  std::uint64_t random;
  void** blocks;
  std::uint32_t* sizes;
  unsigned long allocations, bytes, live_blocks, live_bytes;
};

std::uint64_t next(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

/// Two call sites per level: `path` chooses one of 2^20 stacks.
[[gnu::noinline]] void* allocate_from(std::uint32_t path, int depth, std::size_t size) {
  void* block = nullptr;
  if (depth == 0) {
    block = malloc(size);
  } else if ((path & 1U) != 0) {
    block = allocate_from(path >> 1, depth - 1, size);
    asm volatile("" : "+r"(block));
  } else {
    block = allocate_from(path >> 1, depth - 1, size);
    asm volatile("" : "+r"(block) : : "memory");
  }
  return block;
}

void* run(void* argument) {
  Work& work = *static_cast<Work*>(argument);
  for (long i = 0; i < work.operations; ++i) {
    const std::uint64_t random = next(work.random);
    const std::size_t size = static_cast<std::size_t>(work.least) + 2 * (random % 500);
    const long at = static_cast<long>((random >> 20) % static_cast<std::uint64_t>(work.live));
    if (work.blocks[at] != nullptr) {
      free(work.blocks[at]);
      --work.live_blocks;
      work.live_bytes -= work.sizes[at];
    }
    const auto path = static_cast<std::uint32_t>(i % work.stacks);
    work.blocks[at] = work.stacks > 1 ? allocate_from(path, 20, size) : malloc(size);
    if (work.blocks[at] == nullptr) return nullptr;
    work.sizes[at] = static_cast<std::uint32_t>(size);
    ++work.allocations;
    work.bytes += size;
    ++work.live_blocks;
    work.live_bytes += size;
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int threads = atoi(argv[1]);
  static Work work[64];
  static pthread_t ids[64];
  for (int i = 0; i < threads; ++i) {
    work[i].operations = atol(argv[2]);
    work[i].live = atol(argv[3]);
    work[i].stacks = argc > 4 ? atol(argv[4]) : 1;
    work[i].least = argc > 5 ? atol(argv[5]) : 3001;
    work[i].random = 88172645463325252U + 7919U * static_cast<unsigned>(i);
    const auto live = static_cast<std::size_t>(work[i].live);
    work[i].blocks = static_cast<void**>(calloc(live, sizeof(void*)));
    work[i].sizes = static_cast<std::uint32_t*>(calloc(live, sizeof(std::uint32_t)));
    if (work[i].blocks == nullptr || work[i].sizes == nullptr) return 1;
  }
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], nullptr, run, &work[i]);
  unsigned long allocations = 0, bytes = 0, live = 0, live_bytes = 0;
  for (int i = 0; i < threads; ++i) {
    pthread_join(ids[i], nullptr);
    allocations += work[i].allocations;
    bytes += work[i].bytes;
    live += work[i].live_blocks;
    live_bytes += work[i].live_bytes;
  }
  printf("%lu %lu %lu %lu\n", allocations, bytes, live, live_bytes);
}
