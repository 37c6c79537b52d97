// The corners of mmap and its relatives, in every context that a program may call them
// from. Addresses are not printed: they differ from run to run anyway.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "scenario.h"

namespace {

constexpr std::size_t kPage = 4096;
constexpr int kReadWrite = PROT_READ | PROT_WRITE;
constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS;

char* map(std::size_t pages, int protection = kReadWrite, int flags = kPrivate,
          void* at = nullptr) {
  void* address = mmap(at, pages * kPage, protection, flags, -1, 0);
  EXPECT(address != MAP_FAILED);
  return static_cast<char*>(address);
}

/// Before main, and before most of the C++ library.
char* early_page = nullptr;
[[gnu::constructor(101)]] void map_early() {
  early_page = static_cast<char*>(mmap(nullptr, 3 * kPage, kReadWrite, kPrivate, -1, 0));
  early_page[0] = 'e';
}

void before_main() {
  EXPECT(early_page != MAP_FAILED && early_page[0] == 'e');
  EXPECT(munmap(early_page, 3 * kPage) == 0);
}

void partial_unmaps() {
  char* block = map(16);
  EXPECT(munmap(block + 2 * kPage, 3 * kPage) == 0);
  EXPECT(munmap(block + 2 * kPage, 3 * kPage) == 0);  // Nothing is there: no error.
  EXPECT(munmap(block + 14 * kPage, 2 * kPage) == 0);
  block[0] = block[kPage] = block[5 * kPage] = block[13 * kPage] = 'x';
  EXPECT(munmap(block, 16 * kPage) == 0);
}

void fixed_maps() {
  char* block = map(16);
  block[4 * kPage] = 'x';
  char* over = map(4, kReadWrite, kPrivate | MAP_FIXED, block + 3 * kPage);
  EXPECT(over == block + 3 * kPage && block[4 * kPage] == 0);
  errno = 0;
  EXPECT(mmap(block, kPage, kReadWrite, kPrivate | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED);
  EXPECT(errno == EEXIST);
  EXPECT(munmap(block, 16 * kPage) == 0);
}

void remaps() {
  char* block = map(4);
  block[0] = 'a';
  char* moved = static_cast<char*>(mremap(block, 4 * kPage, 64 * kPage, MREMAP_MAYMOVE));
  EXPECT(moved != MAP_FAILED && moved[0] == 'a');
  EXPECT(mremap(moved, 64 * kPage, 2 * kPage, 0) == moved);
  char* target = map(8);
  char* there = static_cast<char*>(
      mremap(moved, 2 * kPage, 5 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, target));
  EXPECT(there == target && there[0] == 'a');
#ifdef MREMAP_DONTUNMAP
  char* left = static_cast<char*>(
      mremap(there, 5 * kPage, 5 * kPage, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, nullptr));
  EXPECT(left != MAP_FAILED && left[0] == 'a' && there[0] == 0);
  EXPECT(munmap(left, 5 * kPage) == 0);
#endif
  EXPECT(munmap(there, 8 * kPage) == 0);
}

void breaks() {
  auto* start = static_cast<char*>(sbrk(0));
  for (int round = 0; round < 20; ++round) {
    auto* old = static_cast<char*>(sbrk(3 * kPage));
    EXPECT(old != reinterpret_cast<char*>(-1));
    old[0] = old[3 * kPage - 1] = 'b';
    EXPECT(sbrk(0) == old + 3 * kPage);
    EXPECT(brk(old + 5 * kPage) == 0);
    old[5 * kPage - 1] = 'b';
    EXPECT(sbrk(-std::intptr_t{5 * kPage}) == old + 5 * kPage);
  }
  EXPECT(sbrk(0) == start);
  errno = 0;
  EXPECT(sbrk(INTPTR_MAX) == reinterpret_cast<void*>(-1) && errno == ENOMEM);
  errno = 0;
  EXPECT(brk(reinterpret_cast<void*>(UINTPTR_MAX & ~(kPage - 1))) == -1 && errno == ENOMEM);
}

/// volatile: what is wrong with them is for the kernel to see.
volatile std::size_t zero = 0;
volatile std::size_t huge = SIZE_MAX - kPage;

void failures() {
  char* block = map(2);
  const auto fails = [](bool has_failed, int error) {
    EXPECT(has_failed && errno == error);
    errno = 0;
  };
  errno = 0;
  fails(mmap(nullptr, zero, kReadWrite, kPrivate, -1, 0) == MAP_FAILED, EINVAL);
  fails(mmap(nullptr, huge, kReadWrite, kPrivate, -1, 0) == MAP_FAILED, ENOMEM);
  fails(mmap(nullptr, kPage, kReadWrite, MAP_PRIVATE, -1, 0) == MAP_FAILED, EBADF);
  fails(mmap(nullptr, kPage, kReadWrite, kPrivate, -1, 1) == MAP_FAILED, EINVAL);
  fails(mmap64(nullptr, kPage, kReadWrite, kPrivate, -1, 12345) == MAP_FAILED, EINVAL);
  fails(mmap(nullptr, kPage, kReadWrite, MAP_ANONYMOUS, -1, 0) == MAP_FAILED, EINVAL);
  fails(munmap(block + 1, kPage) == -1, EINVAL);
  fails(munmap(block, zero) == -1, EINVAL);
  fails(mprotect(block + 1, kPage, PROT_READ) == -1, EINVAL);
  fails(mremap(block + 1, kPage, kPage, 0) == MAP_FAILED, EINVAL);
  fails(mremap(block, 2 * kPage, zero, MREMAP_MAYMOVE) == MAP_FAILED, EINVAL);
  EXPECT(munmap(block, 2 * kPage) == 0);
  fails(mprotect(block, kPage, PROT_READ) == -1, ENOMEM);
  fails(mremap(block, kPage, 2 * kPage, MREMAP_MAYMOVE) == MAP_FAILED, EFAULT);
}

void errno_survives_success() {
  errno = 77;
  char* block = map(4);
  EXPECT(mprotect(block, kPage, PROT_NONE) == 0);
  block = static_cast<char*>(mremap(block + kPage, 3 * kPage, 3 * kPage, 0));
  EXPECT(munmap(block - kPage, 4 * kPage) == 0);
  EXPECT(sbrk(kPage) != reinterpret_cast<void*>(-1));
  EXPECT(sbrk(-std::intptr_t{kPage}) != reinterpret_cast<void*>(-1));
  EXPECT(errno == 77);
}

void kinds_of_maps() {
  char* stack = map(32, kReadWrite, kPrivate | MAP_STACK | MAP_NORESERVE);
  char* shared = map(2, kReadWrite, MAP_SHARED | MAP_ANONYMOUS);
  char* reserved = map(1 << 20, PROT_NONE, kPrivate | MAP_NORESERVE);  // 4 GiB of addresses.
  EXPECT(mprotect(reserved + 4096 * kPage, 8 * kPage, kReadWrite) == 0);
  reserved[4100 * kPage] = 'r';
  EXPECT(mprotect(reserved + 4096 * kPage, 8 * kPage, PROT_NONE) == 0);
  EXPECT(munmap(reserved, std::size_t{1 << 20} * kPage) == 0);
  EXPECT(munmap(stack, 32 * kPage) == 0 && munmap(shared, 2 * kPage) == 0);
  // No huge pages are set aside, or some are: either way the same as without us.
  void* large = mmap(nullptr, std::size_t{1} << 30, kReadWrite, kPrivate | MAP_HUGETLB, -1, 0);
  std::printf("huge pages: %s\n", large == MAP_FAILED ? std::strerror(errno) : "yes");
}

void files() {
  const int file = open("/proc/self/exe", O_RDONLY);
  EXPECT(file >= 0);
  auto* text = static_cast<char*>(mmap(nullptr, 100, PROT_READ, MAP_PRIVATE, file, 0));
  EXPECT(text != MAP_FAILED && std::memcmp(text, "\177ELF", 4) == 0);
  auto* next = static_cast<char*>(mmap64(nullptr, 100, PROT_READ, MAP_SHARED, file, kPage));
  EXPECT(next != MAP_FAILED);
  EXPECT(close(file) == 0);
  EXPECT(munmap(text, 100) == 0 && munmap(next, 100) == 0);
}

std::atomic<int> handled{0};
void map_in_handler(int) {
  const int saved = errno;
  char* block = map(3);
  block[0] = 'h';
  block = static_cast<char*>(mremap(block, 3 * kPage, 5 * kPage, MREMAP_MAYMOVE));
  munmap(block, 5 * kPage);
  handled.fetch_add(1);
  errno = saved;
}

/// Signals arrive inside malloc, inside mmap and inside what records either.
void in_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = map_in_handler;
  sigaction(SIGALRM, &action, nullptr);
  itimerval often{{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &often, nullptr);
  while (handled.load() < 300) {
    char* block = map(2);
    free(opaque(malloc(100)));
    munmap(block, 2 * kPage);
  }
  itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
}

void in_vfork_children() {
  char* seen = map(1);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = vfork();
    if (child == 0) {
      char* block = map(2);  // The parent's memory.
      block[0] = 'v';
      std::memcpy(seen, &block, sizeof block);
      _exit(0);
    }
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    char* block = nullptr;
    std::memcpy(&block, seen, sizeof block);
    EXPECT(block[0] == 'v');
    EXPECT(munmap(block, 2 * kPage) == 0);
  }
}

void in_fork_children() {
  char* before = map(4);
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      munmap(before + kPage, kPage);  // Its first call only gives back.
      char* block = map(2);
      mremap(before, kPage, 3 * kPage, MREMAP_MAYMOVE);
      munmap(block, kPage);
      _exit(7);
    }
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
  }
  before[kPage] = 'p';
  EXPECT(munmap(before, 4 * kPage) == 0);
}

constexpr int kChurnRounds = 2000;

/// Gives addresses back twice a round, and keeps a page, which may well lie where another
/// thread has just given some back.
void* churn(void*) {
  for (int round = 0; round < kChurnRounds; ++round) {
    char* block = map(2);
    block = static_cast<char*>(mremap(block, 2 * kPage, 5 * kPage, MREMAP_MAYMOVE));
    map(1);
    munmap(block, 5 * kPage);
    map(1);
  }
  return nullptr;
}

/// Addresses go from thread to thread.
void in_threads() {
  pthread_t threads[4];
  for (pthread_t& thread : threads) EXPECT(pthread_create(&thread, nullptr, churn, nullptr) == 0);
  for (const pthread_t thread : threads) EXPECT(pthread_join(thread, nullptr) == 0);
}

void* map_for_ever(void*) {
  for (;;) {
    munmap(map(1), kPage);
    pthread_testcancel();
  }
}

void in_cancelled_threads() {
  for (int round = 0; round < 20; ++round) {
    pthread_t thread{};
    EXPECT(pthread_create(&thread, nullptr, map_for_ever, nullptr) == 0);
    EXPECT(pthread_cancel(thread) == 0);
    void* result = nullptr;
    EXPECT(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
  }
}

void address_space_limit() {
  const rlimit limit{std::size_t{1} << 30, std::size_t{1} << 30};
  EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
  errno = 0;
  EXPECT(mmap(nullptr, std::size_t{1} << 31, kReadWrite, kPrivate, -1, 0) == MAP_FAILED);
  EXPECT(errno == ENOMEM);
  munmap(map(100), 100 * kPage);
}

/// Accessible pages of [block, block + pages), as the kernel tells.
std::size_t accessible_pages(const char* block, std::size_t pages) {
  std::size_t found = 0;
  FILE* maps = std::fopen("/proc/self/maps", "r");
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    char access[5] = {};
    if (std::sscanf(line, "%lx-%lx %4s", &start, &end, access) != 3) continue;
    const auto low = std::max(start, reinterpret_cast<std::uintptr_t>(block));
    const auto high = std::min(end, reinterpret_cast<std::uintptr_t>(block) + pages * kPage);
    if (low < high && access[0] == 'r') found += (high - low) / kPage;
  }
  std::fclose(maps);
  return found;
}

/// Random calls inside one reservation; the kernel's account is printed last. None
/// fails: over a gap, mprotect changes what comes before, and says only that it failed.
void account() {
  constexpr std::size_t kPages = 256;
  std::mt19937 random(7);
  char* block = map(kPages, PROT_NONE);
  char* other = map(64, PROT_NONE);
  std::vector<bool> is_mapped(kPages, true);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t at = random() % kPages;
    const std::size_t count = 1 + random() % std::min<std::size_t>(kPages - at, 24);
    char* place = block + at * kPage;
    const int protection = random() % 3 == 0 ? PROT_NONE : kReadWrite;
    const auto first = is_mapped.begin() + static_cast<long>(at);
    switch (random() % 4) {
      case 0:
        map(count, protection, kPrivate | MAP_FIXED, place);
        std::fill_n(first, count, true);
        break;
      case 1:
        EXPECT(munmap(place, count * kPage) == 0);
        std::fill_n(first, count, false);
        break;
      case 2:
        if (std::find(first, first + static_cast<long>(count), false) !=
            first + static_cast<long>(count)) {
          break;
        }
        EXPECT(mprotect(place, count * kPage, protection) == 0);
        break;
      default:
        if (!*first) break;
        *first = false;
        EXPECT(mremap(place, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED,
                      other + random() % 64 * kPage) != MAP_FAILED);
    }
  }
  std::printf("accessible: %zu pages\n",
              accessible_pages(block, kPages) + accessible_pages(other, 64));
}

constexpr Scenario kScenarios[] = {
    {"before_main", before_main},
    {"partial_unmaps", partial_unmaps},
    {"fixed_maps", fixed_maps},
    {"remaps", remaps},
    {"breaks", breaks},
    {"failures", failures},
    {"errno_survives_success", errno_survives_success},
    {"kinds_of_maps", kinds_of_maps},
    {"files", files},
    {"in_signal_handlers", in_signal_handlers},
    {"in_vfork_children", in_vfork_children},
    {"in_fork_children", in_fork_children},
    {"in_threads", in_threads},
    {"in_cancelled_threads", in_cancelled_threads},
    {"address_space_limit", address_space_limit},
    {"account", account},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(argc, argv, kScenarios); }
