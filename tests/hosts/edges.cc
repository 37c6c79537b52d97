// The corners of the allocation functions: sizes 0 and huge, realloc, alignment,
// errno, every form of operator new and delete, and random operations checked
// against a shadow map.
#include <malloc.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <new>
#include <random>
#include <vector>

#include "scenario.h"

namespace {

bool is_aligned(const void* pointer, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

void sizes_zero() {
  for (int round = 0; round < 1000; ++round) {
    void* one = opaque(malloc(0));
    void* two = opaque(malloc(0));
    EXPECT(one != nullptr && two != nullptr && one != two);
    free(one);
    free(two);
    free(opaque(calloc(0, 8)));
    free(opaque(calloc(8, 0)));
    ::operator delete(opaque(::operator new(0)));
    free(nullptr);
    ::operator delete(static_cast<void*>(nullptr));
  }
}

// An address at a multiple of 8 MiB shares its place in the filter with NULL.
void null_beside_a_sample() {
  void* aligned = opaque(aligned_alloc(std::size_t{1} << 23, 64));
  EXPECT(is_aligned(aligned, std::size_t{1} << 23));
  for (int round = 0; round < 5000; ++round) free(opaque(malloc(40)));
  for (int round = 0; round < 100; ++round) free(opaque(static_cast<void*>(nullptr)));
  free(aligned);
}

// volatile: the compiler warns about, or folds, sizes it can see.
volatile std::size_t huge_sizes[] = {SIZE_MAX, SIZE_MAX - 4096, std::size_t{1} << 63,
                                     (std::size_t{1} << 63) - 1, std::size_t{1} << 62};

void sizes_huge() {
  for (int round = 0; round < 100; ++round) {
    for (const std::size_t size : huge_sizes) {
      errno = 0;
      EXPECT(opaque(malloc(size)) == nullptr && errno == ENOMEM);
      errno = 0;
      EXPECT(opaque(calloc(size, 4)) == nullptr && errno == ENOMEM);
      errno = 0;
      EXPECT(opaque(aligned_alloc(64, size & ~std::size_t{63})) == nullptr && errno == ENOMEM);
      void* kept = opaque(malloc(100));
      errno = 0;
      EXPECT(opaque(realloc(opaque(kept), size)) == nullptr && errno == ENOMEM);
      errno = 0;
      EXPECT(opaque(reallocarray(opaque(kept), size, 16)) == nullptr && errno == ENOMEM);
      free(kept);
      void* out = nullptr;
      EXPECT(posix_memalign(&out, 64, size) == ENOMEM);
      EXPECT(::operator new(size, std::nothrow) == nullptr);
      bool has_thrown = false;
      try {
        opaque(::operator new(size));
      } catch (const std::bad_alloc&) {
        has_thrown = true;
      }
      EXPECT(has_thrown);
    }
    free(opaque(malloc(64)));
  }
}

void reallocs() {
  for (std::size_t size = 1; size < 100000; size = size * 3 / 2 + 1) {
    auto* text = static_cast<unsigned char*>(opaque(realloc(nullptr, size)));
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<unsigned char>(i * 7);
    text = static_cast<unsigned char*>(opaque(realloc(text, size * 3)));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < size; ++i) wrong += text[i] != static_cast<unsigned char>(i * 7);
    text = static_cast<unsigned char*>(opaque(realloc(text, size / 2 + 1)));
    for (std::size_t i = 0; i < size / 2; ++i)
      wrong += text[i] != static_cast<unsigned char>(i * 7);
    EXPECT(wrong == 0);
    EXPECT(opaque(realloc(text, 0)) == nullptr);
  }
}

void alignments() {
  for (std::size_t alignment = 8; alignment <= 65536; alignment *= 2) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{100}, alignment, alignment * 3}) {
      void* pointers[5] = {};
      EXPECT(posix_memalign(&pointers[0], alignment, size) == 0);
      pointers[1] = aligned_alloc(alignment, size);
      pointers[2] = memalign(alignment, size);
      pointers[3] = ::operator new (size, std::align_val_t{alignment});
      pointers[4] = ::operator new[](size, std::align_val_t{alignment}, std::nothrow);
      for (void* pointer : pointers) {
        EXPECT(pointer != nullptr && is_aligned(pointer, alignment));
        memset(pointer, 0x5a, size);
      }
      free(pointers[0]);
      free(pointers[1]);
      free(pointers[2]);
      ::operator delete (pointers[3], size, std::align_val_t{alignment});
      ::operator delete[](pointers[4], std::align_val_t{alignment}, std::nothrow);
    }
  }
  void* out = nullptr;
  EXPECT(posix_memalign(&out, 3, 8) == EINVAL);
  EXPECT(posix_memalign(&out, 4, 8) == EINVAL);
  EXPECT(is_aligned(out = opaque(valloc(1)), 4096));
  free(out);
  EXPECT(is_aligned(out = opaque(pvalloc(1)), 4096));
  EXPECT(malloc_usable_size(out) >= 4096);
  free(out);
}

void errnos() {
  for (int round = 0; round < 20000; ++round) {
    errno = 123;
    void* pointer = opaque(malloc(static_cast<std::size_t>(round % 300)));
    EXPECT(errno == 123);
    pointer = opaque(realloc(pointer, 400));
    EXPECT(errno == 123);
    free(pointer);
    EXPECT(errno == 123);
    ::operator delete(opaque(::operator new(33)));
    EXPECT(errno == 123);
    free(opaque(calloc(3, 33)));
    EXPECT(errno == 123);
    EXPECT(posix_memalign(&pointer, 64, 100) == 0 && errno == 123);
    free(pointer);
    EXPECT(errno == 123);
  }
}

void usable_sizes() {
  for (std::size_t size = 1; size < 300000; size = size * 5 / 4 + 1) {
    auto* block = static_cast<char*>(opaque(malloc(size)));
    const std::size_t usable = malloc_usable_size(block);
    EXPECT(usable >= size);
    memset(block, 1, usable);
    block = static_cast<char*>(opaque(realloc(block, usable)));
    EXPECT(malloc_usable_size(block) >= usable);
    free(block);
  }
}

void new_forms() {
  const std::align_val_t wide{64};
  for (int round = 0; round < 2000; ++round) {
    const std::size_t size = 1 + static_cast<std::size_t>(round) % 500;
    ::operator delete(opaque(::operator new(size)));
    ::operator delete(opaque(::operator new(size)), size);
    ::operator delete(opaque(::operator new(size, std::nothrow)), std::nothrow);
    ::operator delete[](opaque(::operator new[](size)));
    ::operator delete[](opaque(::operator new[](size)), size);
    ::operator delete[](opaque(::operator new[](size, std::nothrow)), std::nothrow);
    ::operator delete(opaque(::operator new(size, wide)), wide);
    ::operator delete(opaque(::operator new(size, wide)), size, wide);
    ::operator delete(opaque(::operator new(size, wide, std::nothrow)), wide, std::nothrow);
    ::operator delete[](opaque(::operator new[](size, wide)), wide);
    ::operator delete[](opaque(::operator new[](size, wide)), size, wide);
    ::operator delete[](opaque(::operator new[](size, wide, std::nothrow)), wide, std::nothrow);
  }
}

int handler_calls = 0;
void new_handler() {
  if (++handler_calls == 3) throw std::bad_alloc();
}

void new_handlers() {
  std::set_new_handler(new_handler);
  bool has_thrown = false;
  try {
    opaque(::operator new(huge_sizes[0]));
  } catch (const std::bad_alloc&) {
    has_thrown = true;
  }
  std::printf("handler called %d times, thrown %d\n", handler_calls, has_thrown);
  handler_calls = 2;
  EXPECT(::operator new(huge_sizes[0], std::nothrow) == nullptr);
  std::printf("handler called %d times\n", handler_calls);
}

/// Random operations on a few hundred blocks; each block is filled with a pattern
/// of its own that must survive until it is freed.
struct Shadow {
  std::mt19937 random{12345};
  struct Block {
    unsigned char* start;
    std::size_t size;
    unsigned char fill;
  };
  std::vector<Block> blocks;
  std::map<unsigned char*, std::size_t> ranges;
  std::size_t wrong = 0;

  std::size_t draw_size() {
    static constexpr std::size_t kLimits[] = {16, 64, 300, 5000, 70000, 600000};
    return random() % kLimits[random() % 6];
  }
  void* allocate(std::size_t size) {
    void* out = nullptr;
    switch (random() % 7) {
      case 0:
        return calloc(1, size);
      case 1:
        return aligned_alloc(64, size);
      case 2:
        return memalign(256, size);
      case 3:
        return posix_memalign(&out, 32, size) == 0 ? out : nullptr;
      case 4:
        return realloc(nullptr, size);
      default:
        return malloc(size);
    }
  }
  void track(void* pointer, std::size_t size) {
    Block block{static_cast<unsigned char*>(pointer), size, static_cast<unsigned char>(random())};
    auto next = ranges.lower_bound(block.start);
    if (next != ranges.end()) wrong += block.start + size > next->first;
    if (next != ranges.begin())
      wrong += std::prev(next)->first + std::prev(next)->second > block.start;
    ranges[block.start] = size;
    memset(block.start, block.fill, size);
    blocks.push_back(block);
  }
  Block take() {
    const std::size_t at = random() % blocks.size();
    const Block block = blocks[at];
    blocks[at] = blocks.back();
    blocks.pop_back();
    ranges.erase(block.start);
    check(block, block.size);
    return block;
  }
  void check(const Block& block, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) wrong += block.start[i] != block.fill;
  }
  void step() {
    if (blocks.size() < 50 || (blocks.size() < 500 && random() % 2 == 0)) {
      const std::size_t size = draw_size();
      return track(opaque(allocate(size)), size);
    }
    Block block = take();
    if (random() % 3 != 0) return free(block.start);
    const std::size_t size = draw_size() + 1;
    const std::size_t kept = std::min(size, block.size);
    block.start = static_cast<unsigned char*>(opaque(realloc(block.start, size)));
    check(block, kept);
    track(block.start, size);
  }
};

void properties() {
  Shadow shadow;
  for (int round = 0; round < 20000; ++round) shadow.step();
  std::printf("wrong bytes or overlaps: %zu\n", shadow.wrong);
}

constexpr Scenario kScenarios[] = {
    {"sizes_zero", sizes_zero}, {"sizes_huge", sizes_huge},
    {"reallocs", reallocs},     {"alignments", alignments},
    {"errnos", errnos},         {"usable_sizes", usable_sizes},
    {"new_forms", new_forms},   {"new_handlers", new_handlers},
    {"properties", properties}, {"null_beside_a_sample", null_beside_a_sample},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(argc, argv, kScenarios); }
