#include "runtime/capture/arena.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

#include "base/raw_syscall.h"

namespace geiger::capture {
namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;

struct alignas(64) Chunk {
  std::atomic<std::size_t> used;  ///< May pass the end: the last taker found it full.
  char pad[64 - sizeof(std::atomic<std::size_t>)];
  char bytes[kChunkBytes - 64];
};

/// Serves small programs without a system call; untouched pages cost nothing.
constinit Chunk first{};
constinit std::atomic<Chunk*> current{&first};

}  // namespace

void* map_pages(std::size_t bytes) {
  const long result = base::raw_syscall(SYS_mmap, 0, long(bytes), PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return base::is_error(result) ? nullptr : reinterpret_cast<void*>(result);
}

void* arena_allocate(std::size_t bytes) {
  bytes = (bytes + 63) & ~std::size_t{63};
  for (;;) {
    Chunk* chunk = current.load(std::memory_order_acquire);
    const std::size_t at = chunk->used.fetch_add(bytes, std::memory_order_relaxed);
    if (at + bytes <= sizeof chunk->bytes) return chunk->bytes + at;
    auto* fresh = static_cast<Chunk*>(map_pages(sizeof(Chunk)));
    if (fresh == nullptr) return nullptr;
    if (!current.compare_exchange_strong(chunk, fresh, std::memory_order_acq_rel)) {
      base::raw_syscall(SYS_munmap, long(fresh), sizeof(Chunk));  // Another thread was faster.
    }
  }
}

}  // namespace geiger::capture
