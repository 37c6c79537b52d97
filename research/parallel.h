// Work on several threads, watched by the one that started it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

namespace geiger::research {

/// Calls work(item) for each item below `items`, on at most `jobs` >= 1 threads. Each thread
/// gets its own `make_worker()`, so workers may keep what they like. Meanwhile
/// watch(done) is called on this thread, every 20 ms. Nothing may throw.
template <typename MakeWorker, typename Watch>
void work_in_parallel(std::size_t items, std::size_t jobs, const MakeWorker& make_worker,
                      const Watch& watch) {
  std::atomic<std::size_t> next{0}, done{0};
  const auto run = [&] {
    auto worker = make_worker();
    for (std::size_t item = next.fetch_add(1); item < items; item = next.fetch_add(1)) {
      worker(item);
      done.fetch_add(1, std::memory_order_release);  // Pairs with the acquire below.
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < std::min(jobs, items); ++i) threads.emplace_back(run);
  while (done.load(std::memory_order_acquire) < items) {
    watch(done.load(std::memory_order_relaxed));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace geiger::research
