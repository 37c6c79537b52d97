// Pairs of malloc and free, for counting instructions of whatever allocator is preloaded.
//
//   heap_loops LOOP COUNT [INTERVAL]
//
//   ring   64 bytes; the block that is 1,024 pairs old is freed
//   once   64 bytes; freed at once
//   mix    8 to 4,096 bytes, every power of 2 alike; a random one of 1,024 blocks is freed
//
// With INTERVAL, samples of geiger's own malloc are counted, and their number is printed; without,
// its draws are dropped.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

/// Time stands still for the allocator, which gives memory back after a while: how much of it a run
/// under callgrind does would depend on the machine's load.
extern "C" int clock_gettime(clockid_t, timespec* time) noexcept {
  *time = {1000, 0};
  return 0;
}

namespace {

/// As in heap/listener.h.
struct Listener {
  std::uint64_t (*sampled)(const void* sample);
  void (*freed)(std::uint64_t number, const void* address);
};
std::uint64_t samples;
constexpr Listener kCounts{[](const void*) { return ++samples; }, [](std::uint64_t, const void*) {}};

void begin(const char* interval) {
  using Listen = void (*)(const Listener*, std::uint64_t, std::uint64_t);
  const auto listen = reinterpret_cast<Listen>(dlsym(RTLD_DEFAULT, "geiger_heap_listen_v1"));
  if (listen == nullptr) return;
  const bool is_on = interval != nullptr;
  listen(is_on ? &kCounts : nullptr, is_on ? std::strtoull(interval, nullptr, 10) : 512 << 10, 1);
}

constexpr std::size_t kLive = 1024;
void* live[kLive];

void ring(long count) {
  for (long i = 0; i < count; ++i) {
    void*& block = live[static_cast<std::size_t>(i) % kLive];
    free(block);
    block = malloc(64);
  }
}

void once(long count) {
  for (long i = 0; i < count; ++i) {
    void* block = malloc(64);
    asm volatile("" : "+r"(block));
    free(block);
  }
}

void mix(long count) {
  static std::uint16_t sizes[4096];
  std::uint32_t random = 1;
  const auto draw = [&] { return (random = random * 1664525 + 1013904223) >> 8; };
  for (std::uint16_t& size : sizes) {
    const std::uint32_t power = draw() % 9;
    size = static_cast<std::uint16_t>((8U << power) + draw() % ((8U << power) + 1));
  }
  for (long i = 0; i < count; ++i) {
    void*& block = live[draw() % kLive];
    free(block);
    block = malloc(sizes[static_cast<std::size_t>(i) % 4096]);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  begin(arguments[3]);
  const long pairs = std::atol(arguments[2]);
  if (std::strcmp(arguments[1], "ring") == 0) ring(pairs);
  if (std::strcmp(arguments[1], "once") == 0) once(pairs);
  if (std::strcmp(arguments[1], "mix") == 0) mix(pairs);
  std::printf("%lu\n", static_cast<unsigned long>(samples));
  return 0;
}
