// The list sampler makes the same decisions as trials of every byte, one by one: for every outcome
// of a few trials, and for a whole heap with the same draws.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sampling/samplers.h"
#include "sampling/test_list_heap.h"

namespace geiger::sampling::list_sampler_coupling_test {
namespace {

using Kind = Verdict::Kind;

/// Plain comparisons, as millions of assertions take longer than what they assert.
bool has_invariants(const ListSampler& sampler, const SampledList& list) {
  const bool asks = !sampler.is_pure() && list.block_size >= sampler.interval();
  return list.left >= 0 && list.handed_out() + list.listed() == list.installed &&
         (!asks || list.left == 0) && (asks || list.reserve == 0 || list.skip < list.block_size);
}

// The direct scheme: a sequence of trials. Each block takes the next block_size trials, and reads
// only those of its object. Certain objects take none.
class ByteTrials {
 public:
  ByteTrials(std::uint32_t successes, int length) : successes_(successes), length_(length) {}

  struct Result {
    bool has_success;
    Verdict verdict;
  };

  Result next_block(std::uint64_t block_size, std::uint64_t size) {
    const std::uint64_t skip_count = to_success();
    next_ += static_cast<int>(block_size);
    const bool is_sample = skip_count < std::max<std::uint64_t>(size, 1);
    return {skip_count < block_size, is_sample ? Verdict{Kind::kSampled, skip_count} : Verdict{}};
  }

  /// Failed trials from here to the next success; there is one far beyond the given ones.
  [[nodiscard]] std::uint64_t to_success() const {
    for (int i = next_; i < length_; ++i) {
      if ((successes_ >> i & 1) != 0) return static_cast<std::uint64_t>(i - next_);
    }
    return static_cast<std::uint64_t>(1000 - next_);
  }

 private:
  std::uint32_t successes_;
  int length_;
  int next_ = 0;
};

/// A list before its first block, to be copied: starting one takes longer than handing out a block.
struct Fresh {
  Fresh(std::uint64_t block_size, std::uint64_t interval, bool pure)
      : sampler(started_lists(1, interval, pure)), list(opened(sampler, block_size)) {}

  ListSampler sampler;
  SampledList list;
};

// Hands out one block by the list and by the direct scheme.
class Coupled {
 public:
  Coupled(const Fresh& fresh, std::uint32_t successes, int blocks)
      : trials_(successes, blocks * static_cast<int>(fresh.list.block_size)),
        sampler_(fresh.sampler),
        list_(fresh.list) {
    set_skip_count(sampler_, list_, trials_.to_success());
  }

  void install(std::uint64_t blocks) { sampler_.install(list_, blocks); }
  void withdraw() {
    if (list_.listed() > 0) sampler_.withdraw(list_, 1);
  }
  [[nodiscard]] bool is_used_up() const { return list_.is_used_up(); }

  /// Whether all is as it should be.
  [[nodiscard]] bool hand_out(std::uint64_t size) {
    const bool is_certain = !sampler_.is_pure() && size >= sampler_.interval();
    const auto expected = is_certain ? ByteTrials::Result{false, {Kind::kCertain, 0}}
                                     : trials_.next_block(list_.block_size, size);
    const std::uint64_t before = list_.handed_out();
    const bool is_fast = list_.take();
    const bool is_allowed = !is_fast || (!is_certain && !expected.has_success);
    const Verdict verdict = is_fast ? Verdict{} : sampler_.decide(list_, size);
    const bool is_expected =
        verdict.kind == expected.verdict.kind && verdict.offset == expected.verdict.offset;
    const bool is_whole = list_.handed_out() == before + 1 && has_invariants(sampler_, list_);
    if (expected.has_success) set_skip_count(sampler_, list_, trials_.to_success());
    const bool is_at_the_next =
        list_.skip + static_cast<std::uint64_t>(list_.left) * list_.block_size ==
        trials_.to_success();
    if (is_allowed && is_expected && is_whole && is_at_the_next) return true;
    ADD_FAILURE() << "taken without asking: " << is_fast << ", may be: " << is_allowed
                  << "; the verdict is right: " << is_expected
                  << "; the list is whole: " << is_whole
                  << "; the next success is where it should be: " << is_at_the_next;
    return false;
  }

 private:
  ByteTrials trials_;
  ListSampler sampler_;
  SampledList list_;
};

struct Case {
  std::uint64_t block_size;
  int blocks;
};

// All requests of 0 to block_size bytes for each of the blocks, and all ways to divide the blocks
// into lists: bit i of `ends` ends a list after block i.
void try_all_requests(const Fresh& fresh, std::uint32_t successes, Case shape) {
  const auto choices = static_cast<std::uint32_t>(shape.block_size + 1);
  std::uint32_t requests = 1;
  for (int i = 0; i < shape.blocks; ++i) requests *= choices;
  for (std::uint32_t ends = 0; ends < 1U << (shape.blocks - 1); ++ends) {
    for (std::uint32_t request = 0; request < requests; ++request) {
      Coupled both(fresh, successes, shape.blocks);
      std::uint32_t rest = request;
      for (int i = 0; i < shape.blocks; ++i, rest /= choices) {
        if (both.is_used_up()) {
          int length = 1;
          while (i + length < shape.blocks && (ends >> (i + length - 1) & 1) == 0) ++length;
          both.install(static_cast<std::uint64_t>(length));
        }
        if (!both.hand_out(rest % choices)) FAIL() << successes << ", " << request;
      }
    }
  }
}

void try_all(Case shape, std::uint64_t interval) {
  const auto bytes = shape.block_size * static_cast<std::uint64_t>(shape.blocks);
  const Fresh fresh(shape.block_size, interval, interval > shape.block_size);
  for (std::uint32_t outcome = 0; outcome < 1U << bytes; ++outcome) {
    ASSERT_NO_FATAL_FAILURE(try_all_requests(fresh, outcome, shape)) << shape.block_size;
  }
}

// Every outcome of the trials of some blocks of 1 to 4 bytes. Catches a list cut a block too early
// or too late, K counted from the wrong end, drawn bytes beyond the request, an offset off by one.
TEST(ListSampler, SamplesWhatTrialsOfEveryByteGive) {
  for (const Case shape : {Case{1, 6}, {2, 4}, {3, 3}, {4, 3}}) {
    ASSERT_NO_FATAL_FAILURE(try_all(shape, 1000));
  }
}

// With T of 1 to 3 bytes, so that large requests of a class are certain and small ones are tried.
TEST(ListSampler, CertainObjectsLeaveTheTrialsToOthers) {
  for (const std::uint64_t interval : {1, 2, 3}) {
    ASSERT_NO_FATAL_FAILURE(try_all({3, 3}, interval));
  }
}

// Blocks added and removed in the middle of a list: before each of four blocks nothing, one more,
// two more, or one less. Catches an install() that assumes an empty list, and one that loses the
// rest.
TEST(ListSampler, BlocksMayComeAndGoAtAnyTime) {
  constexpr std::uint64_t kSize = 3;
  constexpr int kBlocks = 4;
  const Fresh fresh(kSize, 1000, true);
  for (std::uint32_t outcome = 0; outcome < 1U << (kBlocks * kSize); ++outcome) {
    for (std::uint32_t schedule = 0; schedule < 256; ++schedule) {
      Coupled both(fresh, outcome, kBlocks);
      for (int i = 0; i < kBlocks; ++i) {
        const std::uint32_t action = schedule >> (2 * i) & 3;
        if (action == 3) both.withdraw();
        if (action != 3) both.install(action);
        if (both.is_used_up()) both.install(3);
        if (!both.hand_out(1 + (outcome + i) % kSize)) FAIL() << outcome << ", " << schedule;
      }
    }
  }
}

// The same draws, walked byte by byte, for a whole heap. Catches a draw too many or too few: at
// refills, at certain objects, after a drawn block.
void expect_heap_equals_walk(std::uint64_t interval, bool pure) {
  ListHeap heap(11, interval, pure);
  Xoshiro256pp generator(11);
  std::uint64_t failures[kClasses];
  for (auto& count : failures) count = skip_count_of(generator.next(), rate_of(interval));
  Xoshiro256pp sizes(5);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> live;
  for (int i = 0; i < 50000; ++i) {
    const std::uint64_t size = sizes.next() % (kLargestSize + 1) >> (sizes.next() % 6);
    const std::size_t index = class_of(size);
    Verdict expected;
    if (!pure && size >= interval) {
      expected = {Kind::kCertain, 0};
    } else {
      for (std::uint64_t byte = 0; byte < kBlockSizes[index]; ++byte) {
        if (failures[index]-- > 0) continue;
        if (byte < std::max<std::uint64_t>(size, 1)) expected = {Kind::kSampled, byte};
        failures[index] = skip_count_of(generator.next(), rate_of(interval));
        break;
      }
    }
    const HandedOut actual = heap.allocate(size);
    ASSERT_EQ(actual.verdict.kind, expected.kind) << i;
    ASSERT_EQ(actual.verdict.offset, expected.offset) << i;
    live.emplace_back(size, actual.block);
    if (sizes.next() % 3 == 0) {
      std::swap(live[sizes.next() % live.size()], live.back());
      heap.free(live.back().first, live.back().second);
      live.pop_back();
    }
    if (i % 1000 == 0) heap.collect();
    if (i % 777 == 0) heap.give_up(sizes.next() % kClasses);
  }
}

TEST(ListSampler, AHeapSamplesWhatAWalkOverItsBytesGives) {
  for (const std::uint64_t interval : {1, 2, 16, 64, 300, 5000}) {
    for (const bool pure : {false, true}) {
      ASSERT_NO_FATAL_FAILURE(expect_heap_equals_walk(interval, pure)) << interval << pure;
    }
  }
}

}  // namespace
}  // namespace geiger::sampling::list_sampler_coupling_test
