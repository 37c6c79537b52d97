#include "runtime/capture/tables/arena.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "base/raw_syscall.h"

namespace geiger::capture {
namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;

constexpr std::size_t kLargestPopulated = 1024 * 1024;

struct alignas(64) Chunk {
  std::atomic<std::size_t> used;  ///< May exceed the chunk: then the last request did not fit.
  char pad[64 - sizeof(std::atomic<std::size_t>)];
  char bytes[kChunkBytes - 64];
};

/// Serves small programs without a system call; untouched pages cost nothing.
constinit Chunk first{};
constinit std::atomic<Chunk*> current{&first};

/// The ranges from map_pages(), and the trace's list that repeats them.
constinit trace::RuntimeRange taken[trace::kMaxRuntimeRanges]{};
constinit std::atomic<trace::RuntimeRange*> listed{nullptr};

void show(std::size_t i) {
  trace::RuntimeRange* list = listed.load(std::memory_order_acquire);
  if (list == nullptr) return;
  list[i].start.store(taken[i].start.load(std::memory_order_relaxed), std::memory_order_relaxed);
  list[i].bytes.store(taken[i].bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

/// Joins the range to the one directly above it (the kernel places new mappings below the last), or
/// takes a slot for it. With two threads at once one range may be slightly wrong.
void note_range(std::uint64_t start, std::uint64_t bytes) {
  for (std::size_t i = 0; i < trace::kMaxRuntimeRanges; ++i) {
    std::uint64_t above = start + bytes;
    std::uint64_t none = 0;
    const bool joins =
        taken[i].start.compare_exchange_strong(above, start, std::memory_order_relaxed);
    if (!joins && !taken[i].start.compare_exchange_strong(none, start, std::memory_order_relaxed)) {
      continue;
    }
    taken[i].bytes.fetch_add(bytes, std::memory_order_relaxed);
    return show(i);
  }
}

void* map(std::size_t bytes, int more_flags) {
  const long result =
      base::raw_syscall(SYS_mmap, 0, long(bytes), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | more_flags, -1, 0);
  if (base::is_error(result)) return nullptr;
  note_range(static_cast<std::uint64_t>(result), bytes);
  return reinterpret_cast<void*>(result);
}

}  // namespace

void list_ranges(trace::RuntimeRange (&ranges)[trace::kMaxRuntimeRanges]) {
  listed.store(ranges, std::memory_order_release);
  for (std::size_t i = 0; i < trace::kMaxRuntimeRanges; ++i) show(i);
}

void* map_pages(std::size_t bytes) { return map(bytes, 0); }

void* map_table(std::size_t bytes) {
  return map(bytes, bytes <= kLargestPopulated ? MAP_POPULATE : 0);
}

void give_back_pages(void* start, std::size_t bytes) {
  base::raw_syscall(SYS_madvise, reinterpret_cast<long>(start), static_cast<long>(bytes),
                    MADV_DONTNEED);
}

void* arena_allocate(std::size_t bytes) {
  if (!GEIGER_CHECK(bytes <= kLargestAllocation)) return nullptr;
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

#if defined(GEIGER_EXPENSIVE_ASSERTIONS)
bool is_arena_whole() {
  const Chunk* chunk = current.load(std::memory_order_acquire);
  if (chunk->used.load(std::memory_order_relaxed) % 64 != 0) return false;
  const auto start_of = [](std::size_t i) { return taken[i].start.load(); };
  for (std::size_t i = 0; i < trace::kMaxRuntimeRanges && start_of(i) != 0; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool is_apart = start_of(i) + taken[i].bytes.load() <= start_of(j) ||
                            start_of(j) + taken[j].bytes.load() <= start_of(i);
      if (!is_apart) return false;
    }
  }
  return true;
}
#endif

}  // namespace geiger::capture
