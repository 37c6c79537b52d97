#include "cli/machine/load.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/numbers.h"

namespace geiger::cli {
namespace {

constexpr std::size_t kPairsOfThreads = 4;
constexpr std::size_t kPlaces = 64;

/// Objects on their way from the thread that allocates them to the one that frees them: the store
/// of the pointer is all that orders the two, as in a program.
using Places = std::array<std::atomic<void*>, kPlaces>;

void allocate(Places& places, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::atomic<void*>& place = places[i % kPlaces];
    while (place.load(std::memory_order_relaxed) != nullptr) std::this_thread::yield();
    place.store(std::malloc(kHandedBytes), std::memory_order_release);
  }
}

void release(Places& places, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::atomic<void*>& place = places[i % kPlaces];
    void* object = nullptr;
    while ((object = place.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
    std::free(object);
    place.store(nullptr, std::memory_order_release);
  }
}

void hand_over() {
  static std::array<Places, kPairsOfThreads> all{};
  std::vector<std::thread> threads;
  for (Places& places : all) {
    threads.emplace_back([&places] { allocate(places, kHandedObjects / kPairsOfThreads); });
    threads.emplace_back([&places] { release(places, kHandedObjects / kPairsOfThreads); });
  }
  for (std::thread& thread : threads) thread.join();
}

void loop(std::uint64_t pairs) {
  for (std::uint64_t i = 0; i < pairs; ++i) {
    void* object = std::malloc(64);
    asm volatile("" : : "r"(object) : "memory");  // The pair is not folded away.
    std::free(object);
  }
}

}  // namespace

base::Outcome<int> carry_load(const std::string& load) {
  if (load == "handover") {
    hand_over();
    return 0;
  }
  const auto pairs = base::number_in<std::uint64_t>(load);
  if (!pairs) return base::Failure{"no such load: " + load};
  loop(*pairs);
  return 0;
}

}  // namespace geiger::cli
