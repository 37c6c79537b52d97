// The definitions of list_sampler.h.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "geiger/sampling/list_sampler.h"
#include "geiger/sampling/series.h"

#ifndef GEIGER_SAMPLING_ASSERT
#define GEIGER_SAMPLING_ASSERT(condition) static_cast<void>(0)
#endif

#if defined(__GNUC__)
#define GEIGER_SAMPLING_FLATTEN [[gnu::flatten]]
#else
#define GEIGER_SAMPLING_FLATTEN
#endif

namespace geiger::sampling {

// Heaps are made of zeroed pages, inside of malloc.
static_assert(std::is_trivially_copyable_v<SampledList> && sizeof(SampledList) == 48);
static_assert(std::is_trivially_copyable_v<ListSampler> && sizeof(ListSampler) <= 64);

GEIGER_SAMPLING_INLINE void ListSampler::start(std::uint64_t seed, std::uint64_t interval,
                                               double lambda, bool pure) noexcept {
  generator_ = Xoshiro256pp(seed);
  interval_ = interval;
  lambda_ = lambda;
  is_pure_ = pure;
}

GEIGER_SAMPLING_INLINE void ListSampler::open(SampledList& list,
                                              std::uint64_t block_size) noexcept {
  GEIGER_SAMPLING_ASSERT(block_size != 0);
  list = {};
  list.block_size = block_size;
  list.skip = draw();
}

GEIGER_SAMPLING_INLINE void ListSampler::install(SampledList& list,
                                                 std::uint64_t blocks) const noexcept {
  list.installed += blocks;
  cut(list, list.skip_count(), list.listed() + blocks);
}

GEIGER_SAMPLING_INLINE void ListSampler::withdraw(SampledList& list,
                                                  std::uint64_t blocks) const noexcept {
  const std::uint64_t present = list.listed();
  const std::uint64_t leaving = std::min(blocks, present);
  list.installed -= leaving;
  cut(list, list.skip_count(), present - leaving);
}

// Inlines all calls: saves a third of a sample's cost inside the allocator.
GEIGER_SAMPLING_FLATTEN
GEIGER_SAMPLING_INLINE Verdict ListSampler::decide(SampledList& list, std::uint64_t size) noexcept {
  GEIGER_SAMPLING_ASSERT(size <= list.block_size || list.block_size == 0);
  const std::uint64_t blocks = list.listed();
  if (blocks == 0) return {};
  const std::uint64_t skip_count = list.skip_count();
  if (is_certain(size)) {
    cut(list, skip_count, blocks - 1);
    return {Verdict::Kind::kCertain, 0};
  }
  if (skip_count >= list.block_size) {
    cut(list, skip_count - list.block_size, blocks - 1);
    return {};
  }
  cut(list, draw(), blocks - 1);
  if (interval_ == 0 || skip_count >= std::max<std::uint64_t>(size, 1)) return {};
  return {Verdict::Kind::kSampled, skip_count};
}

GEIGER_SAMPLING_INLINE void ListSampler::change_interval(SampledList* lists, std::size_t count,
                                                         std::uint64_t interval,
                                                         double lambda) noexcept {
  interval_ = interval;
  lambda_ = lambda;
  redraw(lists, count);
}

GEIGER_SAMPLING_INLINE void ListSampler::reseed(SampledList* lists, std::size_t count,
                                                std::uint64_t seed) noexcept {
  generator_ = Xoshiro256pp(seed);
  redraw(lists, count);
}

// The largest count for 0 (never): lists are not cut before 2^64 bytes of a class.
GEIGER_SAMPLING_INLINE std::uint64_t ListSampler::draw() noexcept {
  if (interval_ == 0) return std::numeric_limits<std::uint64_t>::max();
  return logarithm::skip_count(generator_.next(), lambda_);
}

GEIGER_SAMPLING_INLINE void ListSampler::redraw(SampledList* lists, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (lists[i].block_size == 0) continue;
    cut(lists[i], draw(), lists[i].listed());
  }
}

// Divides the `blocks` on the list into those that the fast path may hand out, which do not contain
// the success after `skip_count` failed bytes, and the reserve.
GEIGER_SAMPLING_INLINE void ListSampler::cut(SampledList& list, std::uint64_t skip_count,
                                             std::uint64_t blocks) const noexcept {
  std::uint64_t undecided = list.block_size == 0 ? blocks : skip_count / list.block_size;
  if (is_certain(list.block_size)) undecided = 0;
  if (undecided >= blocks) undecided = blocks;
  list.left = static_cast<std::int64_t>(undecided);
  list.skip = skip_count - undecided * list.block_size;
  list.reserve = blocks - undecided;
}

}  // namespace geiger::sampling
