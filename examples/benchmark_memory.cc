// What benchmarks allocate per iteration, in Google Benchmark's own report.
#include <benchmark/benchmark.h>
#include <geiger/benchmark_memory_manager.hpp>

#include <cstdio>
#include <memory>
#include <vector>

namespace {

constexpr int kNumbers = 100;

/// Grows by doubling: 8 allocations of 4 to 512 bytes; while it copies, both are there.
void grow(benchmark::State& state) {
  for (auto _ : state) {
    std::vector<int> numbers;
    for (int i = 0; i < kNumbers; ++i) numbers.push_back(i);
    benchmark::DoNotOptimize(numbers.data());
  }
}
BENCHMARK(grow);

void reserve(benchmark::State& state) {
  for (auto _ : state) {
    std::vector<int> numbers;
    numbers.reserve(kNumbers);
    for (int i = 0; i < kNumbers; ++i) numbers.push_back(i);
    benchmark::DoNotOptimize(numbers.data());
  }
}
BENCHMARK(reserve);

/// Compares what is reported with what is known.
class Check : public benchmark::ConsoleReporter {
 public:
  Check() : ConsoleReporter(OO_None) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) check(run);
    ConsoleReporter::ReportRuns(runs);
  }
  [[nodiscard]] bool is_right() const { return seen_ == 2 && wrong_ == 0; }

 private:
  void check(const Run& run) {
    if (run.memory_result == nullptr) return;
    ++seen_;
    const benchmark::MemoryManager::Result& memory = *run.memory_result;
    const bool grows = run.benchmark_name() == "grow";
    const double allocations = grows ? 8 : 1;
    const long bytes = grows ? 4 * (1 + 2 + 4 + 8 + 16 + 32 + 64 + 128) : 4 * kNumbers;
    const long peak = grows ? 4 * (64 + 128) : 4 * kNumbers;
    const long iterations = memory.num_allocs / static_cast<long>(allocations);
    std::printf("%s: %.0f allocations per iteration, %ld bytes at the peak, %ld bytes in all\n",
                run.benchmark_name().c_str(), run.allocs_per_iter,
                static_cast<long>(memory.max_bytes_used),
                static_cast<long>(memory.total_allocated_bytes));
    // The benchmark's own machinery may allocate beside the loop.
    wrong_ += run.allocs_per_iter < allocations || run.allocs_per_iter > allocations + 1;
    wrong_ += memory.max_bytes_used < peak || memory.max_bytes_used > peak + 1024;
    wrong_ += memory.total_allocated_bytes < bytes * iterations ||
              memory.total_allocated_bytes > bytes * iterations + 4096;
  }

  int seen_ = 0, wrong_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  geiger::BenchmarkMemoryManager memory;
  benchmark::RegisterMemoryManager(&memory);
  Check check;
  benchmark::RunSpecifiedBenchmarks(&check);
  benchmark::RegisterMemoryManager(nullptr);
  return check.is_right() ? 0 : 1;
}
