// A program that knows where its live bytes lie.
//
//   residency pages|hidden|heap HOLD      HOLD = milliseconds to live on when all is done
//
// pages: eight sites allocate blocks of different sizes and touch known parts of them; then mincore
// tells for every page whether it is resident. heap: three sites allocate small blocks, two thirds
// of which are freed in an order of no pattern; what remains answers for the free bytes of its
// pages. hidden: pages, in a process that only root may look into, which goes on allocating so that
// it can be asked itself. (Run it with caches of freed chunks off, which look used from outside.)
//
// Prints one JSON object: the instant (CLOCK_MONOTONIC, ns) from which on nothing changes,
// and per site its address and, per live block, [requested, value, value]: pages: resident,
// untouched; heap: stranded, 0. Of heap also what malloc says is free.
#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <random>
#include <vector>

#define SITE(number)                                                                            \
  extern "C" __attribute__((noinline, section("sites"))) void* site_##number(std::size_t size); \
  void* site_##number(std::size_t size) {                                                       \
    void* block = std::malloc(size);                                                            \
    asm volatile("" : "+r"(block)); /* no tail call: the site stays on the stack */             \
    return block;                                                                               \
  }
SITE(0)
SITE(1)
SITE(2) SITE(3) SITE(4) SITE(5) SITE(6) SITE(7)

    extern "C" char __start_sites[],
    __stop_sites[];

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uintptr_t kPageMask = kPage - 1;
void* (*const kSites[])(std::size_t) = {site_0, site_1, site_2, site_3,
                                        site_4, site_5, site_6, site_7};

struct Block {
  int site;
  char* start;
  std::size_t size;
  double value = 0, rest = 0;
};

/// Bytes of mappings of our own, so that nothing here changes the heap.
template <class T>
struct Outside {
  using value_type = T;
  Outside() = default;
  template <class U>
  Outside(const Outside<U>&) {}
  T* allocate(std::size_t n) {
    void* map =
        mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return map == MAP_FAILED ? nullptr : static_cast<T*>(map);
  }
  void deallocate(T* block, std::size_t n) { munmap(block, n * sizeof(T)); }
  template <class U>
  bool operator==(const Outside<U>&) const {
    return true;
  }
};
using Blocks = std::vector<Block, Outside<Block>>;

void touch(char* from, std::size_t bytes) { std::memset(from, 1, bytes); }

/// The part of a block that its site touches.
void use(const Block& block) {
  switch (block.site) {
    case 0:
    case 1:
      return touch(block.start, block.size);
    case 2:
      return touch(block.start, block.size / 2);
    case 3:
      for (std::size_t at = 0; at < block.size; at += 2 * kPage) touch(block.start + at, 1);
      return;
    case 5:
      return touch(block.start, block.size * 3 / 10);
    case 6:
      for (std::size_t at = 0; at < block.size; at += 3 * kPage) touch(block.start + at, 1);
      return;
    case 7: {
      touch(block.start, block.size);
      auto* inner = reinterpret_cast<char*>(
          (reinterpret_cast<std::uintptr_t>(block.start) + kPageMask) & ~kPageMask);
      madvise(inner, block.size / 2 / kPage * kPage, MADV_DONTNEED);
      return;
    }
    default:
      return;  // Never touched.
  }
}

void measure_residency(Block& block) {
  const auto start = reinterpret_cast<std::uintptr_t>(block.start);
  const std::uintptr_t end = start + block.size;
  for (std::uintptr_t at = start; at < end;) {
    const std::uintptr_t page = at & ~kPageMask;
    const std::uintptr_t next = std::min(end, page + kPage);
    unsigned char is_resident = 0;
    mincore(reinterpret_cast<void*>(page), kPage, &is_resident);
    ((is_resident & 1) != 0 ? block.value : block.rest) += static_cast<double>(next - at);
    at = next;
  }
}

void fill_pages(Blocks& blocks) {
  constexpr std::size_t kSizes[] = {64,        1000,      6000,      20 << 10,
                                    100 << 10, 100 << 10, 300 << 10, 40 << 10};
  constexpr std::size_t kBytesOfSite = 2 << 20;
  for (int site = 0; site < 8; ++site) {
    for (std::size_t bytes = 0; bytes < kBytesOfSite; bytes += kSizes[site]) {
      blocks.push_back({site, static_cast<char*>(kSites[site](kSizes[site])), kSizes[site]});
      use(blocks.back());
    }
  }
  for (Block& block : blocks) measure_residency(block);
}

struct Page {
  double used = 0;
};
using Pages =
    std::map<std::uintptr_t, Page, std::less<>, Outside<std::pair<const std::uintptr_t, Page>>>;

/// Calls visit(page, bytes of the chunk on it); a chunk begins 16 bytes before its block.
template <class Visit>
void for_pages(const Block& block, const Visit& visit) {
  const auto start = reinterpret_cast<std::uintptr_t>(block.start) - 16;
  const std::uintptr_t end = start + malloc_usable_size(block.start) + 8;
  for (std::uintptr_t at = start; at < end;) {
    const std::uintptr_t next = std::min(end, (at & ~kPageMask) + kPage);
    visit(at / kPage, static_cast<double>(next - at));
    at = next;
  }
}

void fill_heap(Blocks& blocks) {
  constexpr std::size_t kBlocks = 30'000;
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const int site = static_cast<int>(random() % 3);
    const std::size_t size = site == 0   ? 24
                             : site == 1 ? 40 + random() % 100
                                         : 200 + random() % 800;
    blocks.push_back({site, static_cast<char*>(kSites[site](size)), size});
  }
  Blocks kept;
  for (const Block& block : blocks) {
    if (random() % 3 == 0) {
      kept.push_back(block);
    } else {
      std::free(block.start);
    }
  }
  blocks.swap(kept);
  Pages pages;
  for (const Block& block : blocks) {
    for_pages(block, [&](std::uintptr_t page, double bytes) { pages[page].used += bytes; });
  }
  for (Block& block : blocks) {
    for_pages(block, [&](std::uintptr_t page, double bytes) {
      const double used = pages[page].used;
      block.value += bytes * (kPage - used) / used;
    });
  }
}

std::uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

void print(const Blocks& blocks, std::uint64_t done) {
  const struct mallinfo2 info = mallinfo2();
  std::printf("{\"done\":%lu,\"free\":%zu,\"top\":%zu,\"start\":%lu,\"stop\":%lu,\"sites\":[", done,
              info.fordblks, info.keepcost, reinterpret_cast<std::uintptr_t>(__start_sites),
              reinterpret_cast<std::uintptr_t>(__stop_sites));
  for (int site = 0; site < 8; ++site) {
    std::printf("%s\n{\"start\":%lu,\"blocks\":[", site == 0 ? "" : ",",
                reinterpret_cast<std::uintptr_t>(kSites[site]));
    const char* separator = "";
    for (const Block& block : blocks) {
      if (block.site != site) continue;
      std::printf("%s[%zu,%.3f,%.3f]", separator, block.size, block.value, block.rest);
      separator = ",";
    }
    std::printf("]}");
  }
  std::printf("]}\n");
  std::fflush(stdout);
}

/// The same chunk again and again, which no block is: nothing else changes.
void allocate_and_free() {
  void* block = std::malloc(8);
  asm volatile("" : "+r"(block));
  std::free(block);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  static char buffer[1 << 16];
  std::setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  Blocks blocks;
  blocks.reserve(100'000);
  const bool is_hidden = std::strcmp(argv[1], "hidden") == 0;
  if (is_hidden) prctl(PR_SET_DUMPABLE, 0);
  allocate_and_free();
  if (is_hidden || std::strcmp(argv[1], "pages") == 0) {
    fill_pages(blocks);
  } else {
    fill_heap(blocks);
  }
  print(blocks, now());
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    if (is_hidden) allocate_and_free();
    usleep(1000);
  }
  _exit(0);  // With everything alive.
}
