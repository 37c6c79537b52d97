// Cost of numbers with errors, in ns per node or per pair of nodes.
//
//   cmake --build build --target estimation_bench && build/bin/estimation_bench
//
// Argument: samples of the node. Sizes and rates are mixed, so that no branch is
// always taken; "large" nodes have gamma shapes where the method changes.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "estimation/counts.h"
#include "estimation/difference.h"
#include "estimation/estimate.h"

namespace {

using namespace geiger;
using namespace geiger::estimation;

constexpr double kInterval = 524288;
constexpr std::size_t kNodes = 1024;

NodeSums node(std::mt19937_64& generator, std::uint64_t samples) {
  NodeSums sums;
  sums.could_have_sampled(kInterval);
  const std::uint64_t groups = samples < 8 ? samples : 8;
  for (std::uint64_t i = 0; i < groups; ++i) {
    const double rate = rate_of_interval(kInterval / (generator() % 2 == 0 ? 1 : 8));
    sums.add(16 + generator() % 500000, rate, samples / groups);
  }
  return sums;
}

std::vector<NodeSums> nodes(std::uint64_t samples) {
  std::mt19937_64 generator(1);
  std::vector<NodeSums> all(kNodes);
  for (NodeSums& sums : all) sums = node(generator, samples);
  return all;
}

void interval(benchmark::State& state, Form form) {
  const std::vector<NodeSums> all = nodes(static_cast<std::uint64_t>(state.range(0)));
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(estimate_bytes(all[i++ % kNodes], 0.95, form));
  }
}
BENCHMARK_CAPTURE(interval, total, Form::kTotal)->Arg(0)->Arg(1)->Arg(3)->Arg(30)->Arg(10000);
BENCHMARK_CAPTURE(interval, listed, Form::kListed)->Arg(1)->Arg(3)->Arg(30)->Arg(10000);

void compare(benchmark::State& state) {
  const std::vector<NodeSums> all = nodes(static_cast<std::uint64_t>(state.range(0)));
  std::size_t i = 0;
  for (auto _ : state) {
    const Side before{.sums = all[i % kNodes]}, after{.sums = all[(i + 1) % kNodes]};
    benchmark::DoNotOptimize(difference(before, after, 0.95));
    ++i;
  }
}
BENCHMARK(compare)->Arg(0)->Arg(1)->Arg(3)->Arg(30)->Arg(10000)->Arg(100000000);

void add_in_order(benchmark::State& state) {
  std::mt19937_64 generator(1);
  Counts counts(static_cast<std::size_t>(state.range(0)));
  for (Count& count : counts) {
    count = {16 + generator() % 2000, rate_of_interval(kInterval), 1};
  }
  for (auto _ : state) {
    Counts canonical = counts;
    make_canonical(canonical);
    benchmark::DoNotOptimize(sums_of(canonical));
  }
}
BENCHMARK(add_in_order)->Arg(30)->Arg(100000);

void adjust(benchmark::State& state) {
  std::mt19937_64 generator(1);
  std::vector<double> p(static_cast<std::size_t>(state.range(0)));
  for (double& value : p) value = static_cast<double>(generator() >> 11) * 0x1p-53;
  for (auto _ : state) benchmark::DoNotOptimize(adjusted_p_values(p));
}
BENCHMARK(adjust)->Arg(100000);

}  // namespace

BENCHMARK_MAIN();
