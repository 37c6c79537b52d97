// A program that knows its own truth: 56 call sites that allocate known bytes.
//
//   truth MODE INTERVAL      MODE = one | threads | short
//
// Site site_CL belongs to class C (how sizes are made) and level L (how many
// samples to expect at INTERVAL). Every second block of a site stays alive.
// `one` runs site after site in one thread, so that the periodic class really has
// the sampling interval as its period; `threads` deals a shuffled list to four
// threads; `short` deals it to threads of 64 KiB each, one after another.
//
// Prints one JSON object: per site its address range, and the exact bytes and
// calls of each size, allocated and alive at the end.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <random>
#include <thread>
#include <vector>

namespace {

using Allocate = void* (*)(std::size_t);
using Release = void (*)(void*);

}  // namespace

// One function per site, all in one section so that an address tells its site.
#define SITE(number, expression)                                                                \
  extern "C" __attribute__((noinline, section("sites"))) void* site_##number(std::size_t size); \
  void* site_##number(std::size_t size) {                                                       \
    void* block = (expression);                                                                 \
    asm volatile("" : "+r"(block)); /* no tail call: the site stays on the stack */             \
    return block;                                                                               \
  }
#define CLASS(digit, expression)                                                       \
  SITE(digit##0, expression)                                                           \
  SITE(digit##1, expression) SITE(digit##2, expression) SITE(digit##3, expression)     \
      SITE(digit##4, expression) SITE(digit##5, expression) SITE(digit##6, expression) \
          SITE(digit##7, expression)
#define ROW(digit)                                                                       \
  {                                                                                      \
    site_##digit##0, site_##digit##1, site_##digit##2, site_##digit##3, site_##digit##4, \
        site_##digit##5, site_##digit##6, site_##digit##7                                \
  }

CLASS(0, ::operator new(size))
CLASS(1, malloc(size))
CLASS(2, ::operator new[](size))
CLASS(3, malloc(size))
CLASS(4, calloc(1, size))
CLASS(5, realloc(nullptr, size))
CLASS(6, ::operator new (size, std::align_val_t{64}))

extern "C" char __start_sites[], __stop_sites[];

namespace {

constexpr int kClasses = 7;
constexpr int kLevels = 8;
constexpr double kExpectedSamples[kLevels] = {0.5, 1, 2, 3, 5, 10, 30, 100};
constexpr const char* kClassNames[kClasses] = {"constant", "lognormal", "periodic", "huge",
                                               "tiny",     "large",     "uniform"};
constexpr Allocate kSites[kClasses][kLevels] = {ROW(0), ROW(1), ROW(2), ROW(3),
                                                ROW(4), ROW(5), ROW(6)};
const Release kReleases[kClasses] = {
    [](void* block) { ::operator delete(block); },
    free,
    [](void* block) { ::operator delete[](block); },
    free,
    free,
    free,
    [](void* block) { ::operator delete (block, std::align_val_t{64}); }};

struct Operation {
  std::uint8_t kind;
  std::uint8_t level;
  bool is_kept;
  std::uint64_t size;
};

/// Sizes of one site, from a fixed seed: the truth is the same in every run.
class SizeSource {
 public:
  SizeSource(int kind, int level, double interval)
      : kind_(kind), interval_(interval), random_(static_cast<unsigned>(kind * 100 + level)) {}

  std::uint64_t next() {
    const double size = draw(index_++);
    return static_cast<std::uint64_t>(std::max(1.0, std::floor(size)));
  }

 private:
  double draw(int index) {
    switch (kind_) {
      case 0:
        return interval_ / 20;
      case 1:
        return std::min(interval_ / 50 * std::exp(1.2 * normal_(random_)), interval_ - 1);
      case 2:
        return index % 2 == 0 ? interval_ - 64 : 64;  // together exactly the interval
      case 3:
        return interval_ * (index % 4 == 3 ? 2.5 : 0.7);
      case 4:
        return std::max(16.0, interval_ / 2048);
      case 5:
        return index % 7 == 6 ? interval_ : interval_ / 3;  // exactly T is certain
      default:
        return std::uniform_real_distribution<>(1, interval_ / 2)(random_);
    }
  }
  int kind_;
  double interval_;
  std::mt19937_64 random_;
  std::normal_distribution<> normal_;
  int index_ = 0;
};

double inclusion_probability(std::uint64_t size, double interval) {
  const auto bytes = static_cast<double>(size);
  return bytes >= interval ? 1 : -std::expm1(bytes * std::log1p(-1 / interval));
}

std::vector<Operation> plan(double interval) {
  std::vector<Operation> operations;
  for (int kind = 0; kind < kClasses; ++kind) {
    for (int level = 0; level < kLevels; ++level) {
      SizeSource sizes(kind, level, interval);
      double expected = 0;
      for (bool is_kept = true; expected < kExpectedSamples[level]; is_kept = !is_kept) {
        const std::uint64_t size = sizes.next();
        expected += inclusion_probability(size, interval);
        operations.push_back(
            {static_cast<std::uint8_t>(kind), static_cast<std::uint8_t>(level), is_kept, size});
      }
    }
  }
  return operations;
}

void execute(const Operation* begin, const Operation* end) {
  for (; begin != end; ++begin) {
    void* block = kSites[begin->kind][begin->level](begin->size);
    if (!begin->is_kept) kReleases[begin->kind](block);
  }
}

/// Threads draw by the order in which they first allocate: here each does so before the next
/// starts, and none goes on before all are there. So a seed fixes the samples.
int run_threads(const std::vector<Operation>& operations) {
  constexpr std::size_t kThreads = 4;
  std::atomic<std::size_t> begun = 0;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  const Operation* first = operations.data();
  for (std::size_t i = 0; i < kThreads; ++i) {
    const Operation* begin = first + operations.size() * i / kThreads;
    const Operation* end = first + operations.size() * (i + 1) / kThreads;
    threads.emplace_back([&begun, begin, end] {
      ::operator delete(::operator new(1));
      ++begun;
      begun.notify_all();
      for (std::size_t seen = begun; seen < kThreads; seen = begun) begun.wait(seen);
      execute(begin, end);
    });
    for (std::size_t seen = begun; seen <= i; seen = begun) begun.wait(seen);
  }
  for (std::thread& thread : threads) thread.join();
  return kThreads;
}

int run_short(const std::vector<Operation>& operations) {
  constexpr std::uint64_t kBytesPerThread = 64 << 10;
  int threads = 0;
  const Operation* const end = operations.data() + operations.size();
  for (const Operation* begin = operations.data(); begin != end; ++threads) {
    const Operation* stop = begin;
    for (std::uint64_t bytes = 0; stop != end && bytes < kBytesPerThread; ++stop)
      bytes += stop->size;
    std::thread(execute, begin, stop).join();
    begin = stop;
  }
  return threads;
}

/// Deals the operations so that threads see a mix; the standard library's own
/// shuffle may differ between versions, this one does not.
void shuffle(std::vector<Operation>& operations) {
  std::mt19937_64 random(20240229);
  for (std::size_t i = operations.size(); i > 1; --i)
    std::swap(operations[i - 1], operations[random() % i]);
}

using Groups = std::map<std::uint64_t, std::uint64_t>;  // size -> calls

void print_groups(const char* name, const Groups& groups) {
  std::printf(",\"%s\":[", name);
  const char* separator = "";
  for (const auto& [size, calls] : groups) {
    std::printf("%s[%lu,%lu]", separator, size, calls);
    separator = ",";
  }
  std::printf("]");
}

void print_sites(const std::vector<Operation>& operations) {
  std::vector<Groups> allocated(kClasses * kLevels), live(kClasses * kLevels);
  for (const Operation& operation : operations) {
    const auto site = static_cast<std::size_t>(operation.kind * kLevels + operation.level);
    ++allocated[site][operation.size];
    if (operation.is_kept) ++live[site][operation.size];
  }
  for (int site = 0; site < kClasses * kLevels; ++site) {
    const int kind = site / kLevels, level = site % kLevels;
    std::printf("%s\n{\"name\":\"site_%d%d\",\"class\":\"%s\",\"expected\":%g,\"start\":%lu",
                site == 0 ? "" : ",", kind, level, kClassNames[kind], kExpectedSamples[level],
                reinterpret_cast<std::uintptr_t>(kSites[kind][level]));
    print_groups("allocated", allocated[static_cast<std::size_t>(site)]);
    print_groups("live", live[static_cast<std::size_t>(site)]);
    std::printf("}");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const double interval = std::atof(argv[2]);
  std::vector<Operation> operations = plan(interval);
  int threads = 1;
  if (std::strcmp(argv[1], "one") == 0) {
    execute(operations.data(), operations.data() + operations.size());
  } else {
    shuffle(operations);
    threads = argv[1][0] == 't' ? run_threads(operations) : run_short(operations);
  }
  std::printf(
      "{\"mode\":\"%s\",\"interval\":%s,\"threads\":%d,\"start\":%lu,\"stop\":%lu,\"sites\":[",
      argv[1], argv[2], threads, reinterpret_cast<std::uintptr_t>(__start_sites),
      reinterpret_cast<std::uintptr_t>(__stop_sites));
  print_sites(operations);
  std::printf("]}\n");
}
