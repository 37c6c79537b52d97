// What sampling costs an arena: as ratios of paired runs, whose noise a slow drift of the
// machine does not enter.
//
//   cmake --build build --target arena_bench && build/bin/arena_bench
//
// One iteration allocates up to 200,000 objects, in 20 rounds that end with a reset, three ways,
// one after the other and in turning order: from an arena with sampling off, from one with T =
// 102,400 B, and from a plain arena. Chunks of 64 KiB come from a pool, so that no page faults are
// measured. The counters are the medians of the ratios over the iterations, and the deviation of
// these medians from bootstrap resamples.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory_resource>
#include <random>
#include <vector>

#include "../tests/headers/plain_arena.h"
#include "geiger/arena.h"

namespace {

constexpr int kObjects = 10'000;  // A round's; a tree has a tenth.
constexpr int kRounds = 20;
constexpr std::size_t kChunk = 64 << 10;
constexpr int kPairs = 301;

struct Node {
  Node* next;
  long value;
};

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::vector<std::uint32_t> mixed_sizes() {
  std::mt19937_64 random(1);
  std::vector<std::uint32_t> sizes(4096);
  for (std::uint32_t& size : sizes) size = static_cast<std::uint32_t>(8 + random() % 120);
  return sizes;
}

// A list of typed nodes: sizes known to the compiler.
struct Nodes {
  template <class AnyArena>
  static void run(AnyArena& arena) {
    Node* list = nullptr;
    for (int i = 0; i < kObjects; ++i) {
      Node* node = arena.template make<Node>();
      node->next = list;
      list = node;
    }
    benchmark::DoNotOptimize(list);
    arena.reset();
  }
};

// Blocks of 8 to 127 bytes: sizes known at run time. Touched in one byte, nothing but
// allocation is left to divide by: the worst case. Filled, as what a program allocates is.
template <bool IsFilled>
struct Blocks {
  template <class AnyArena>
  static void run(AnyArena& arena) {
    static const std::vector<std::uint32_t> sizes = mixed_sizes();
    for (int i = 0; i < kObjects; ++i) {
      const std::size_t size = sizes[static_cast<unsigned>(i) % 4096];
      auto* block = static_cast<char*>(arena.allocate(size));
      std::memset(block, 1, IsFilled ? size : 1);
      benchmark::DoNotOptimize(block);
    }
    arena.reset();
  }
};

// A search tree of random keys, as a program might build for a request.
struct Tree {
  struct Branch {
    std::uint32_t key;
    Branch* below[2];
  };

  template <class AnyArena>
  static void run(AnyArena& arena) {
    Branch* root = nullptr;
    std::uint32_t key = 1;
    for (int i = 0; i < kObjects / 10; ++i) {
      key = key * 1664525U + 1013904223U;
      Branch** place = &root;
      while (*place != nullptr) place = &(*place)->below[key > (*place)->key];
      *place = arena.template make<Branch>(Branch{key, {nullptr, nullptr}});
    }
    benchmark::DoNotOptimize(root);
    arena.reset();
  }
};

// Freed chunks are kept for the next round.
class Pool : public std::pmr::memory_resource {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() override {
    for (void* chunk : free_) ::operator delete(chunk);
  }

 private:
  void* do_allocate(std::size_t bytes, std::size_t) override {
    if (free_.empty()) return ::operator new(bytes);
    void* chunk = free_.back();
    free_.pop_back();
    return chunk;
  }
  void do_deallocate(void* chunk, std::size_t, std::size_t) override { free_.push_back(chunk); }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::vector<void*> free_;
};

geiger::ArenaOptions options(std::uint64_t interval, Pool& pool, std::uint64_t* samples) {
  geiger::ArenaOptions options;
  options.chunk_size = kChunk;
  options.upstream = &pool;
  options.interval = interval;
  options.seed = 1;
  options.sink = {samples,
                  [](void* count, const geiger::ArenaSample&) noexcept {
                    ++*static_cast<std::uint64_t*>(count);
                  },
                  nullptr};
  return options;
}

// Never inlined, so that both arenas' loops are compiled in the same surroundings.
template <class AnyArena, class Load>
[[gnu::noinline]] double seconds_of(AnyArena& arena) {
  const double start = thread_seconds();
  for (int i = 0; i < kRounds; ++i) Load::run(arena);
  return thread_seconds() - start;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

double median_error(const std::vector<double>& values) {
  std::mt19937_64 random(2);
  std::vector<double> resample(values.size());
  double sum = 0, squares = 0;
  constexpr int kResamples = 200;
  for (int i = 0; i < kResamples; ++i) {
    for (double& value : resample) value = values[random() % values.size()];
    const double drawn = median(resample);
    sum += drawn;
    squares += drawn * drawn;
  }
  const double mean = sum / kResamples;
  return std::sqrt(std::max(0.0, squares / kResamples - mean * mean));
}

template <class Load>
void paired(benchmark::State& state) {
  std::uint64_t samples = 0;
  Pool pool;
  geiger::Arena off(options(0, pool, &samples));
  geiger::Arena on(options(102'400, pool, &samples));
  PlainArena plain(kChunk, &pool);
  std::vector<double> on_off, on_plain, milliseconds;
  unsigned turn = 0;
  for (auto _ : state) {
    double seconds[3]{};
    for (unsigned k = 0; k < 3; ++k) {
      const unsigned which = (turn + k) % 3;
      seconds[which] = which == 0   ? seconds_of<geiger::Arena, Load>(off)
                       : which == 1 ? seconds_of<geiger::Arena, Load>(on)
                                    : seconds_of<PlainArena, Load>(plain);
    }
    ++turn;
    on_off.push_back(seconds[1] / seconds[0]);
    on_plain.push_back(seconds[1] / seconds[2]);
    milliseconds.push_back(1e3 * seconds[1]);
  }
  state.counters["on_ms"] = median(milliseconds);
  state.counters["on/off"] = median(on_off);
  state.counters["+-1"] = median_error(on_off);
  state.counters["on/plain"] = median(on_plain);
  state.counters["+-2"] = median_error(on_plain);
  state.counters["samples"] = static_cast<double>(samples);
}

BENCHMARK(paired<Nodes>)->Iterations(kPairs)->Unit(benchmark::kMillisecond);
BENCHMARK(paired<Blocks<false>>)->Iterations(kPairs)->Unit(benchmark::kMillisecond);
BENCHMARK(paired<Blocks<true>>)->Iterations(kPairs)->Unit(benchmark::kMillisecond);
BENCHMARK(paired<Tree>)->Iterations(kPairs)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
