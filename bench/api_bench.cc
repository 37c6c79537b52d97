// What calls of the API cost, in a program that is linked with it.
//
//   api_bench            needs Google Benchmark; figures in docs/guide/api.md
#include <benchmark/benchmark.h>

#include <geiger/geiger.hpp>
#include <memory>
#include <vector>

namespace {

void label_scope(benchmark::State& state) {
  static constinit geiger::Label label{"phase=parse"};
  for (auto _ : state) {
    const geiger::LabelScope scope(label);
    benchmark::DoNotOptimize(scope.status());
  }
}
BENCHMARK(label_scope);

void label_scope_of_text(benchmark::State& state) {
  for (auto _ : state) {
    const geiger::LabelScope scope("tenant=acme");
    benchmark::DoNotOptimize(scope.status());
  }
}
BENCHMARK(label_scope_of_text);

void report_allocation_and_free(benchmark::State& state) {
  const geiger::Heap heap("bench");
  geiger_set_sampling_interval(512 << 10);
  alignas(64) char block[64];
  for (auto _ : state) {
    heap.allocated(block, sizeof block);
    heap.freed(block);
  }
}
BENCHMARK(report_allocation_and_free);

void start_and_stop_profile(benchmark::State& state) {
  const auto interval = static_cast<std::uint64_t>(state.range(0));
  for (auto _ : state) {
    geiger_token token;
    geiger_start_profile(GEIGER_ALLOCATIONS, interval, &token);
    geiger_stop_profile(token, nullptr);
  }
}
// The program's own interval; a smaller one, which writes two epochs.
BENCHMARK(start_and_stop_profile)->Arg(0)->Arg(4096)->Iterations(20000);

/// Objects of at least the interval are certain, so each is a live sample.
class Live : public benchmark::Fixture {
 public:
  void SetUp(const benchmark::State& state) override {
    geiger_start_recording();
    geiger_set_sampling_interval(64);
    while (blocks_.size() < static_cast<std::size_t>(state.range(0))) {
      blocks_.emplace_back(new char[64]);
    }
  }
  void TearDown(const benchmark::State&) override {
    blocks_.clear();
    geiger_set_sampling_interval(512 << 10);
    geiger_stop_recording();
  }

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
};

BENCHMARK_DEFINE_F(Live, snapshot)(benchmark::State& state) {
  const auto kind = static_cast<geiger_profile_kind>(state.range(1));
  for (auto _ : state) {
    const geiger::Profile profile = geiger::Profile::snapshot(kind);
    state.counters["samples"] = static_cast<double>(profile.info().samples);
  }
}
BENCHMARK_REGISTER_F(Live, snapshot)
    ->Args({100'000, GEIGER_LIVE})
    ->Args({100'000, GEIGER_PEAK})
    ->Args({100'000, GEIGER_FRAGMENTATION})
    ->Args({100'000, GEIGER_RESIDENCY})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(20);

BENCHMARK_DEFINE_F(Live, estimate)(benchmark::State& state) {
  const geiger::Profile profile = geiger::Profile::snapshot();
  for (auto _ : state) benchmark::DoNotOptimize(profile.total());
}
BENCHMARK_REGISTER_F(Live, estimate)->Args({100'000})->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
