// A function that is called with every sample and with every free of one: here it keeps
// an estimate of the live heap that costs nothing to read.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <geiger/geiger.hpp>
#include <memory>
#include <thread>
#include <vector>

int main() {
  // Listeners run in the middle of malloc and free, on any thread: atomics and no locks.
  std::atomic<double> live_bytes{0};
  std::atomic<int> samples{0}, frees{0};
  geiger_set_sampling_interval(4096);
  const geiger::Listener listener(
      [&](const geiger_sample& sample) {
        live_bytes += sample.weighted_bytes;
        ++samples;
      },
      [&](const geiger_sample& sample) {
        live_bytes -= sample.weighted_bytes;
        ++frees;
      });
  if (listener.status() != GEIGER_OK) {
    std::printf("%s\n", geiger_status_message(listener.status()));
    return 1;
  }
  constexpr std::size_t kBlocks = 20000;
  constexpr std::size_t kBytes = 1000;
  std::vector<std::unique_ptr<char[]>> blocks(kBlocks);
  std::thread([&] {
    for (auto& block : blocks) {
      block.reset(new char[kBytes]);
      std::memset(block.get(), 1, kBytes);
    }
  }).join();
  const double full = live_bytes;
  const int sampled = samples;
  blocks.clear();
  std::printf("with %zu bytes allocated: about %.0f, from %d samples\n", kBlocks * kBytes, full,
              sampled);
  std::printf("with all of them freed:   about %.0f, after %d frees\n", live_bytes.load(),
              frees.load());
  // About 4,400 samples: 8 % are five standard errors.
  const double error = full / static_cast<double>(kBlocks * kBytes) - 1;
  return error > -0.08 && error < 0.08 && frees >= sampled - 5 ? 0 : 1;
}
