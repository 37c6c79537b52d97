// Lists for tests of the list sampler, and a heap of them without memory: blocks are numbers. Its
// lists are refilled from freed blocks of their class, like free pages, else from new blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sampling/samplers.h"

namespace geiger::sampling {

inline ListSampler started_lists(std::uint64_t seed, std::uint64_t interval, bool pure) {
  ListSampler sampler;
  sampler.start(seed, interval, rate_of(interval), pure);
  return sampler;
}

inline SampledList opened(ListSampler& sampler, std::uint64_t block_size) {
  SampledList list;
  sampler.open(list, block_size);
  return list;
}

/// Cuts the list for another K, instead of a draw.
inline void set_skip_count(const ListSampler& sampler, SampledList& list,
                           std::uint64_t skip_count) {
  list.reserve = list.listed();
  list.left = 0;
  list.skip = skip_count;
  sampler.install(list, 0);
}

/// 16 to 640 bytes, like the classes of allocators.
inline constexpr std::uint64_t kBlockSizes[] = {16,  32,  48,  64,  80,  96,  112, 128, 160,
                                                192, 224, 256, 320, 384, 448, 512, 640};
inline constexpr std::size_t kClasses = std::size(kBlockSizes);
inline constexpr std::uint64_t kLargestSize = kBlockSizes[kClasses - 1];

inline std::size_t class_of(std::uint64_t size) {
  return static_cast<std::size_t>(
      std::lower_bound(std::begin(kBlockSizes), std::end(kBlockSizes), size) - kBlockSizes);
}

/// An object handed out: the number of its block, unique in its class, the decision, and the
/// interval in force.
struct HandedOut {
  std::uint32_t block;
  Verdict verdict;
  std::uint64_t interval;

  [[nodiscard]] bool is_sample() const { return verdict.kind != Verdict::Kind::kNotSampled; }
};

class ListHeap {
 public:
  ListHeap(std::uint64_t seed, std::uint64_t interval, bool pure) : wanted_(interval) {
    sampler_.start(seed, interval, rate_of(interval), pure);
    for (std::size_t i = 0; i < kClasses; ++i) sampler_.open(lists_[i], kBlockSizes[i]);
  }

  HandedOut allocate(std::uint64_t size) {
    const std::size_t index = class_of(size);
    SampledList& list = lists_[index];
    const std::uint64_t interval = sampler_.interval();
    if (list.take()) return {next_block(index), {}, interval};
    if (list.is_used_up()) refill(index);
    const Verdict verdict = sampler_.decide(list, size);
    const std::uint32_t block = next_block(index);
    if (wanted_ != interval) change_interval(wanted_);
    return {block, verdict, interval};
  }

  void free(std::uint64_t size, std::uint32_t block) { freed_[class_of(size)].push_back(block); }

  /// Like a collection: freed blocks go to the lists at once, whatever these contain.
  void collect() {
    for (std::size_t i = 0; i < kClasses; ++i) install_freed(i);
  }

  /// Like the retirement of a page: gives up the listed blocks of a class.
  void give_up(std::size_t index) {
    sampler_.withdraw(lists_[index], listed_[index].size());
    freed_[index].insert(freed_[index].end(), listed_[index].begin(), listed_[index].end());
    listed_[index].clear();
  }

  void change_interval(std::uint64_t interval) {
    wanted_ = interval;
    sampler_.change_interval(lists_, kClasses, interval, rate_of(interval));
  }
  /// The next slow path changes it.
  void ask_for_interval(std::uint64_t interval) { wanted_ = interval; }
  void reseed(std::uint64_t seed) { sampler_.reseed(lists_, kClasses, seed); }

  [[nodiscard]] const SampledList& list(std::size_t index) const { return lists_[index]; }
  [[nodiscard]] std::size_t listed(std::size_t index) const { return listed_[index].size(); }

 private:
  std::uint32_t next_block(std::size_t index) {
    const std::uint32_t block = listed_[index].back();
    listed_[index].pop_back();
    return block;
  }

  void install_freed(std::size_t index) {
    sampler_.install(lists_[index], freed_[index].size());
    listed_[index].insert(listed_[index].begin(), freed_[index].begin(), freed_[index].end());
    freed_[index].clear();
  }

  void refill(std::size_t index) {
    for (std::uint64_t i = 0; freed_[index].empty() && i < 4096 / kBlockSizes[index]; ++i) {
      listed_[index].insert(listed_[index].begin(), carved_[index]++);
    }
    sampler_.install(lists_[index], listed_[index].size());
    install_freed(index);
  }

  ListSampler sampler_;
  std::uint64_t wanted_;
  SampledList lists_[kClasses];
  std::vector<std::uint32_t> listed_[kClasses], freed_[kClasses];
  std::uint32_t carved_[kClasses]{};
};

}  // namespace geiger::sampling
