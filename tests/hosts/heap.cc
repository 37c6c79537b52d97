// What an allocator has to do beyond single calls: threads that begin at once, memory that comes
// back, limits, and forks in the middle of everything. The last word of a line is a number that
// tests/heap.py judges.
//
//   heap NAME
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

#include "scenario.h"

namespace {

/// Resident memory that belongs to no file, in KiB.
long resident_kib() {
  long kib = 0;
  FILE* const file = std::fopen("/proc/self/status", "re");
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "RssAnon: %ld", &kib) == 1) break;
  }
  std::fclose(file);
  return kib;
}

/// Bytes of its own in each block, looked at before it is freed.
struct Owned {
  unsigned char* block;
  std::size_t size;
  unsigned char mark;

  static Owned of(void* memory, std::size_t size, unsigned mark) {
    auto* const block = static_cast<unsigned char*>(memory);
    std::memset(block, static_cast<int>(mark), size);
    return {block, size, static_cast<unsigned char>(mark)};
  }
  [[nodiscard]] bool is_intact() const {
    for (std::size_t i = 0; i < size; ++i) {
      if (block[i] != mark) return false;
    }
    return true;
  }
};

// --- first calls ---

constexpr int kThreads = 64;

void* first_call(unsigned number, std::size_t size) {
  if (number % 3 == 0) return malloc(size);
  if (number % 3 == 1) return calloc(1, size);
  return memalign(64, size);
}

void first_calls() {
  int faults = 0;
  for (unsigned round = 0; round < 100; ++round) {
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, kThreads);
    Owned owned[kThreads];
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        pthread_barrier_wait(&barrier);
        const std::size_t size = 16 + i % 4 * 100;
        owned[i] = Owned::of(first_call(i + round, size), size, i);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Owned& each : owned) {
      faults += each.is_intact() ? 0 : 1;
      free(each.block);
    }
    pthread_barrier_destroy(&barrier);
  }
  std::printf("blocks of two threads at once: %d\n", faults);
}

// --- memory that comes back ---

std::vector<void*> produced;

void produce(std::size_t bytes) {
  for (std::size_t size = 16, made = 0; made < bytes; made += size) {
    size = 16 + size * 7 % 2000;
    void* const block = malloc(size);
    std::memset(block, 1, size);
    produced.push_back(block);
  }
}

/// Takes slow paths for longer than free memory is kept.
void go_on_for_a_while() {
  for (int i = 0; i < 30; ++i) {
    usleep(10'000);
    free(opaque(malloc(3 << 20)));
  }
}

void producer_ends() {
  constexpr std::size_t kBytes = 100 << 20;
  produced.reserve(kBytes / 500);
  std::memset(static_cast<void*>(produced.data()), 0, produced.capacity() * sizeof(void*));
  const long before = resident_kib();
  std::thread(produce, kBytes).join();
  const long most = resident_kib();
  for (void* const block : produced) free(block);
  go_on_for_a_while();
  std::printf("MiB that the producer held: %ld\n", (most - before) / 1024);
  std::printf("MiB that stayed: %ld\n", (resident_kib() - before) / 1024);
}

void many_threads() {
  constexpr int kMany = 1000;
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, kMany + 1);
  std::vector<pthread_t> threads(kMany);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  const long before = resident_kib();
  for (pthread_t& thread : threads) {
    pthread_create(
        &thread, &attributes,
        [](void* waits) -> void* {
          auto* const at = static_cast<pthread_barrier_t*>(waits);
          void* blocks[40];
          for (std::size_t i = 0; i < 40; ++i) blocks[i] = malloc(16 + 24 * i);
          for (void* const block : blocks) std::memset(block, 1, 16);
          pthread_barrier_wait(at);
          pthread_barrier_wait(at);
          for (void* const block : blocks) free(block);
          return nullptr;
        },
        &barrier);
  }
  pthread_barrier_wait(&barrier);
  std::printf("MiB of 1,000 threads with 40 sizes: %ld\n", (resident_kib() - before) / 1024);
  pthread_barrier_wait(&barrier);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
}

// --- limits ---

void address_space() {
  const rlimit limit{256 << 20, 256 << 20};
  setrlimit(RLIMIT_AS, &limit);
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t size :
         {std::size_t{100}, std::size_t{10'000}, std::size_t{500'000}, std::size_t{30} << 20}) {
      std::vector<void*> blocks;
      blocks.reserve(4 << 20);
      errno = 0;
      for (void* block = malloc(size); block != nullptr && blocks.size() < blocks.capacity();
           block = malloc(size)) {
        blocks.push_back(block);
      }
      EXPECT(errno == ENOMEM);
      EXPECT(calloc(1, size) == nullptr);
      EXPECT(memalign(4096, size) == nullptr);
      EXPECT(!blocks.empty());
      void* const block = blocks.back();
      std::memset(block, 7, size);
      EXPECT(realloc(block, std::size_t{1} << 40) == nullptr);
      EXPECT(static_cast<unsigned char*>(block)[size - 1] == 7);
      for (void* const each : blocks) free(each);
    }
  }
}

// --- forks ---

std::atomic<bool> is_over{false};
std::atomic<bool> is_paused{false};

/// What a thread has, published so that a child can free it.
struct Churn {
  std::atomic<void*> blocks[64];

  void run(unsigned seed) {
    for (unsigned i = seed; !is_over.load(std::memory_order_relaxed); ++i) {
      is_paused.wait(true);
      const std::size_t size = i % 97 == 0 ? 20'000 : 16 + i * 31 % 3000;
      void* const block = malloc(size);
      *static_cast<std::size_t*>(block) = size;
      free(blocks[i % 64].exchange(block));
    }
  }
};

/// In the child: frees what is there, and allocates all sizes.
int use_inheritance(Churn* churns, int count) {
  for (int i = 0; i < count; ++i) {
    for (std::atomic<void*>& block : churns[i].blocks) free(block.exchange(nullptr));
  }
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      std::vector<Owned> owned;
      for (unsigned j = 0; j < 400; ++j) {
        const std::size_t size = 16 + (i + j) * 31 % 3000;
        owned.push_back(Owned::of(malloc(size), size, j));
      }
      for (const Owned& each : owned) {
        if (!each.is_intact()) _exit(1);
        free(each.block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

void forks() {
  constexpr int kChurns = 7;
  static Churn churns[kChurns];
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kChurns; ++i) threads.emplace_back([i] { churns[i].run(i * 1000); });
  const char* const wanted = getenv("HEAP_FORKS");
  int failed = 0;
  for (int i = wanted != nullptr ? atoi(wanted) : 100; i > 0; --i) {
    usleep(10'000);  // A time slice for most, so that the fork finds them in the middle of a call.
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      _exit(use_inheritance(churns, kChurns));
    }
    is_paused = true;  // The child needs the processors, and sees nothing of what they do now.
    int status = 0;
    waitpid(child, &status, 0);
    failed += status != 0 ? 1 : 0;
    is_paused = false;
    is_paused.notify_all();
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("children that failed: %d\n", failed);
}

// --- no system calls ---

std::int64_t coarse_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);  // Never a system call.
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

/// Uses a heap in strict mode that has had free memory for longer than it is kept.
void strict_mode() {
  static void* blocks[20'000];
  const auto use = [] {
    for (void*& block : blocks) block = opaque(malloc(600));
    for (void* block : blocks) free(block);
  };
  use();
  EXPECT(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, nullptr) == 0);
  const std::int64_t end = coarse_milliseconds() + 300;
  while (coarse_milliseconds() < end) {
  }
  use();
  syscall(SYS_exit, 0);
}

constexpr Scenario kScenarios[] = {
    {"first_calls", first_calls},
    {"producer_ends", producer_ends},
    {"many_threads", many_threads},
    {"address_space", address_space},
    {"forks", forks},
    {"strict_mode", strict_mode},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(argc, argv, kScenarios); }
