#include "heap/system.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#include <atomic>

#include "base/raw_syscall.h"
#include "base/text_builder.h"
#include "heap/heap.h"

namespace geiger::heap::system {

namespace {

using base::raw_syscall;

// End of the address range where the next mapping is likely to fit: below the last one, as the
// kernel would place it. With a hint, no surplus must be mapped and cut off for alignment.
constinit std::atomic<std::uintptr_t> next_hint{0};

std::uintptr_t map_at(std::uintptr_t hint, std::size_t bytes) {
  const long result = raw_syscall(SYS_mmap, static_cast<long>(hint), static_cast<long>(bytes),
                                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return base::is_error(result) ? 0 : static_cast<std::uintptr_t>(result);
}

void unmap_at(std::uintptr_t address, std::size_t bytes) {
  if (bytes != 0) {
    raw_syscall(SYS_munmap, static_cast<long>(address), static_cast<long>(bytes));
  }
}

bool fits(std::uintptr_t address, std::size_t alignment, std::size_t offset) {
  return address % kSegmentBytes == 0 && (address + offset) % alignment == 0;
}

/// Maps too much and cuts off both ends.
std::uintptr_t map_and_cut(std::size_t bytes, std::size_t alignment, std::size_t offset) {
  // For alignments up to a segment's, any segment boundary is fine: `offset` is a multiple of them.
  const bool is_segment = alignment <= kSegmentBytes;
  const std::size_t step = is_segment ? kSegmentBytes : alignment;
  if (is_segment) offset = 0;
  std::size_t with_surplus = 0;
  if (__builtin_add_overflow(bytes, step, &with_surplus)) return 0;
  const std::uintptr_t start = map_at(0, with_surplus);
  if (start == 0) return 0;
  const std::uintptr_t first = ((start + offset + step - 1) & ~(step - 1)) - offset;
  unmap_at(start, first - start);
  unmap_at(first + bytes, start + with_surplus - first - bytes);
  return first;
}

}  // namespace

void* map(std::size_t bytes, std::size_t alignment, std::size_t offset) {
  const std::uintptr_t hint = next_hint.load(std::memory_order_relaxed);
  std::uintptr_t found = 0;
  if (hint > bytes && fits(hint - bytes, alignment, offset)) {
    found = map_at(hint - bytes, bytes);
    if (found != 0 && !fits(found, alignment, offset)) {
      unmap_at(found, bytes);
      found = 0;
    }
  }
  if (found == 0) found = map_and_cut(bytes, alignment, offset);
  if (found != 0) next_hint.store(found, std::memory_order_relaxed);
  return reinterpret_cast<void*>(found);  // NOLINT: an address from the kernel.
}

void unmap(void* memory, std::size_t bytes) {
  unmap_at(reinterpret_cast<std::uintptr_t>(memory), bytes);
}

bool discard(void* memory, std::size_t bytes) {
  return raw_syscall(SYS_madvise, reinterpret_cast<long>(memory), static_cast<long>(bytes),
                     MADV_DONTNEED) == 0;
}

void keep_pages_small(void* memory, std::size_t bytes) {
  raw_syscall(SYS_madvise, reinterpret_cast<long>(memory), static_cast<long>(bytes),
              MADV_NOHUGEPAGE);
}

bool move_pages(void* from, std::size_t bytes, void* to) {
  return !base::is_error(raw_syscall(
      SYS_mremap, reinterpret_cast<long>(from), static_cast<long>(bytes), static_cast<long>(bytes),
      MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, reinterpret_cast<long>(to)));
}

std::uint64_t milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  if (raw_syscall(SYS_getrandom, reinterpret_cast<long>(&seed), sizeof seed, GRND_NONBLOCK) ==
      static_cast<long>(sizeof seed)) {
    return seed;
  }
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_nsec) * 0x9e3779b97f4a7c15 ^
         static_cast<std::uint64_t>(raw_syscall(SYS_gettid));
}

void refuse(const char* function, const void* address) {
  char digits[17] = {};
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  for (int i = 0; i < 16; ++i) digits[15 - i] = "0123456789abcdef"[number >> (4 * i) & 15];
  char sentence[128] = {};
  base::TextBuilder(sentence, sizeof sentence)
      .append("geiger-malloc: ")
      .append(function)
      .append(": 0x")
      .append(digits)
      .append(" is not a live block\n");
  raw_syscall(SYS_write, 2, reinterpret_cast<long>(sentence),
              static_cast<long>(__builtin_strlen(sentence)));
  abort();
}

}  // namespace geiger::heap::system
