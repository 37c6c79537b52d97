// Four threads allocate and free for ever, and count in a shared file what has begun and
// what has returned: a record may be missing only for a call that had not returned, and be
// there only for one that had begun.
//
//   acknowledge FILE SIZE     every allocation of SIZE bytes is to be a sample
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "scenario.h"

namespace {

struct alignas(64) Acknowledged {
  std::atomic<std::uint64_t> allocating;
  std::atomic<std::uint64_t> allocated;
  std::atomic<std::uint64_t> freeing;
  std::atomic<std::uint64_t> freed;
};

void allocate_for_ever(Acknowledged& acknowledged, std::size_t size) {
  constexpr std::size_t kLive = 100;
  void* blocks[kLive] = {};
  for (std::size_t i = 0;; ++i) {
    void*& block = blocks[i % kLive];
    if (block != nullptr) {
      acknowledged.freeing.fetch_add(1, std::memory_order_relaxed);
      free(block);
      acknowledged.freed.fetch_add(1, std::memory_order_relaxed);
    }
    acknowledged.allocating.fetch_add(1, std::memory_order_relaxed);
    block = opaque(malloc(size));
    acknowledged.allocated.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::size_t kThreads = 4;
  if (argc != 3) return 2;
  const int file = open(argv[1], O_RDWR);
  if (file < 0 || ftruncate(file, kThreads * sizeof(Acknowledged)) != 0) return 1;
  void* shared =
      mmap(nullptr, kThreads * sizeof(Acknowledged), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (shared == MAP_FAILED) return 1;
  auto* acknowledged = static_cast<Acknowledged*>(shared);
  const auto size = static_cast<std::size_t>(atoll(argv[2]));
  for (std::size_t i = 1; i < kThreads; ++i)
    std::thread(allocate_for_ever, std::ref(acknowledged[i]), size).detach();
  allocate_for_ever(acknowledged[0], size);
}
