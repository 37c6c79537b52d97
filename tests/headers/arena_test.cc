// What an arena hands out and which objects it samples, against the naive form: every
// object tried by itself.
#include "geiger/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory_resource>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arena_log.h"
#include "geiger/arena_resource.h"
#include "geiger/sampling/counter_sampler.h"

namespace geiger {
namespace {

using Kind = sampling::Verdict::Kind;

// Counts what is out, and fails when told to.
class Upstream : public std::pmr::memory_resource {
 public:
  int blocks = 0;
  std::size_t bytes = 0;
  std::size_t last_size = 0;  ///< 0 after it was looked at.
  bool fails = false;

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    if (fails || size > (std::size_t{1} << 40)) throw std::bad_alloc();
    ++blocks;
    bytes += size;
    last_size = size;
    return std::pmr::new_delete_resource()->allocate(size, alignment);
  }
  void do_deallocate(void* memory, std::size_t size, std::size_t alignment) override {
    --blocks;
    bytes -= size;
    std::pmr::new_delete_resource()->deallocate(memory, size, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

// The sampler as the arena of this seed starts it.
sampling::CounterSampler twin(std::uint64_t seed, std::uint64_t interval, bool is_pure) {
  sampling::CounterSampler sampler;
  sampler.start(sampling::splitmix64(seed), interval, sampling::rate_of(interval), is_pure);
  return sampler;
}

// The boundary: K bytes in one object, in two, and one more. Over seeds, so that K takes
// many values; 1 bytes are aligned everywhere.
TEST(Arena, AnObjectThatEndsAtTheLimitIsNoSample) {
  for (std::uint64_t seed = 1; seed < 500; ++seed) {
    const std::uint64_t skip = twin(seed, 1000, true).countdown();
    for (const std::uint64_t first : {std::uint64_t{0}, skip / 2, skip}) {
      Log log;
      Arena arena(with(log, 1000, seed));
      (void)arena.allocate(first, 1);
      (void)arena.allocate(skip - first, 1);
      EXPECT_THAT(log.allocated, testing::IsEmpty()) << seed;
      (void)arena.allocate(1, 1);
      ASSERT_EQ(log.allocated.size(), 1U) << seed;
      EXPECT_EQ(log.allocated[0].offset, 0U);
      EXPECT_EQ(log.allocated[0].size, 1U);
    }
  }
}

TEST(Arena, AnObjectThatEndsBehindTheLimitIsASampleAtTheOffset) {
  for (std::uint64_t seed = 1; seed < 500; ++seed) {
    const std::uint64_t skip = twin(seed, 1000, true).countdown();
    Log log;
    Arena arena(with(log, 1000, seed));
    void* first = arena.allocate(skip / 3, 1);
    void* second = arena.allocate(skip - skip / 3 + 1, 1);
    ASSERT_EQ(log.allocated.size(), 1U);
    EXPECT_EQ(log.allocated[0].offset, skip - skip / 3);
    EXPECT_EQ(log.allocated[0].address, second);
    EXPECT_EQ(log.allocated[0].lambda, sampling::rate_of(1000));
    EXPECT_NE(first, second);
  }
}

// One allocation, as the naive form sees it.
struct Step {
  std::size_t size;
  std::size_t alignment;
};

std::vector<Step> steps(std::uint64_t seed, int count) {
  sampling::Xoshiro256pp random(seed);
  std::vector<Step> result;
  for (int i = 0; i < count; ++i) {
    const std::size_t size = random.next() % 1500 >> (random.next() % 12);
    result.push_back({size, std::size_t{1} << (random.next() % 8)});
  }
  return result;
}

// The pointer form against the counter form, object by object, through padding, refills,
// objects with chunks of their own, certain objects and changes of T. Of the layout the
// naive form must know where the object before ended, if both lie in one chunk.
class NaiveForm {
 public:
  NaiveForm(std::uint64_t seed, bool is_pure)
      : arena_(options(seed, is_pure)), sampler_(twin(seed, 700, is_pure)) {
    step({1, 1});  // From here on there is a chunk.
  }

  void change_interval(std::uint64_t interval) {
    arena_.set_interval(interval);
    sampler_.change_interval(interval, sampling::rate_of(interval));
  }

  void step(const Step& step) {
    log_.allocated.clear();
    const auto begin = reinterpret_cast<std::uintptr_t>(arena_.allocate(step.size, step.alignment));
    ASSERT_EQ(begin % step.alignment, 0U);
    const std::size_t new_chunk = std::exchange(upstream_.last_size, 0);
    if (new_chunk == 0 && begin != end_) sampler_.try_bytes(begin - end_);
    expect(sampler_.trial(step.size), step, begin);
    if (new_chunk == 0 || new_chunk == kChunkSize) end_ = begin + step.size;
  }

  [[nodiscard]] std::uint64_t samples() { return arena_.totals().samples; }

 private:
  static constexpr std::size_t kChunkSize = 4096;

  ArenaOptions options(std::uint64_t seed, bool is_pure) {
    ArenaOptions options = with(log_, 700, seed, is_pure);
    options.chunk_size = kChunkSize;
    options.upstream = &upstream_;
    return options;
  }

  void expect(const sampling::Verdict& verdict, const Step& step, std::uintptr_t begin) {
    ASSERT_EQ(log_.allocated.size(), verdict.kind == Kind::kNotSampled ? 0U : 1U);
    if (verdict.kind == Kind::kNotSampled) return;
    const ArenaSample& sample = log_.allocated.back();
    EXPECT_EQ(sample.offset, verdict.offset);
    EXPECT_EQ(sample.is_certain, verdict.kind == Kind::kCertain);
    EXPECT_EQ(sample.size, step.size);
    EXPECT_EQ(sample.alignment, step.alignment);
    EXPECT_EQ(sample.address, reinterpret_cast<void*>(begin));
    EXPECT_EQ(sample.lambda, sampler_.lambda());
  }

  Log log_;
  Upstream upstream_;
  Arena arena_;
  sampling::CounterSampler sampler_;
  std::uintptr_t end_ = 0;
};

void expect_naive_samples(std::uint64_t seed, bool is_pure) {
  NaiveForm form(seed, is_pure);
  std::uint64_t number = 0;
  for (const Step& step : steps(seed, 4000)) {
    if (++number % 1000 == 0) form.change_interval(number / 2);
    form.step(step);
    if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", object " << number;
  }
  EXPECT_GT(form.samples(), 100U);
}

TEST(Arena, SamplesWhatTrialsOfEveryObjectWould) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    expect_naive_samples(seed, true);
    expect_naive_samples(seed, false);
  }
}

// Offsets from the first object's address of the same chunk: catches a limit that moves
// objects. The upstream hands out the same blocks to both.
TEST(Arena, SamplingDoesNotMoveObjects) {
  std::vector<std::byte> memory[2] = {std::vector<std::byte>(8 << 20),
                                      std::vector<std::byte>(8 << 20)};
  std::vector<std::ptrdiff_t> places[2];
  for (const int on : {0, 1}) {
    std::pmr::monotonic_buffer_resource block(memory[on].data(), memory[on].size());
    ArenaOptions options;
    options.chunk_size = 4096;
    options.upstream = &block;
    options.interval = on == 1 ? 100 : 0;
    Arena arena(options);
    for (const Step& step : steps(9, 4000)) {
      auto* place = static_cast<std::byte*>(
          arena.allocate(step.size, std::min(step.alignment, std::size_t{16})));
      places[on].push_back(place - memory[on].data());
    }
  }
  EXPECT_EQ(places[0], places[1]);
}

TEST(Arena, ObjectsAreWritableAndApart) {
  for (const std::uint64_t interval : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{300}}) {
    ArenaOptions options;
    options.chunk_size = 1024;
    options.interval = interval;
    Arena arena(options);
    std::vector<std::pair<unsigned char*, Step>> objects;
    for (const Step& step : steps(3, 2000)) {
      auto* object = static_cast<unsigned char*>(arena.allocate(step.size, step.alignment));
      ASSERT_NE(object, nullptr);
      std::memset(object, static_cast<int>(objects.size() % 251), step.size);
      objects.emplace_back(object, step);
    }
    for (std::size_t i = 0; i < objects.size(); ++i) {
      for (std::size_t k = 0; k < objects[i].second.size; ++k) {
        ASSERT_EQ(objects[i].first[k], i % 251);
      }
    }
  }
}

// T = 1: every byte is drawn, every object a sample, certain unless pure.
TEST(Arena, IntervalOneTakesEveryObject) {
  for (const bool is_pure : {false, true}) {
    Log log;
    Arena arena(with(log, 1, 5, is_pure));
    for (std::size_t size = 0; size < 300; ++size) (void)arena.allocate(size);
    EXPECT_EQ(log.allocated.size(), 299U);  // All but the one of 0 bytes.
    EXPECT_EQ(arena.totals().certain, is_pure ? 0U : 299U);
    EXPECT_EQ(arena.totals().z(), 0);
  }
}

TEST(Arena, CertainObjectsAreSampledFromTheIntervalOn) {
  for (std::uint64_t seed = 1; seed < 200; ++seed) {
    if (twin(seed, 512, true).countdown() < 3000) continue;
    Log log;
    Arena arena(with(log, 512, seed, false));
    (void)arena.allocate(511);
    EXPECT_EQ(log.allocated.size(), 0U);
    (void)arena.allocate(512);
    (void)arena.allocate(900);
    ASSERT_EQ(log.allocated.size(), 2U);
    EXPECT_TRUE(log.allocated[0].is_certain);
    EXPECT_EQ(log.allocated[1].size, 900U);
  }
}

TEST(Arena, TotalsAddUp) {
  Log log;
  Arena arena(with(log, 700, 2, false));
  std::uint64_t bytes = 0;
  for (int i = 0; i < 10000; ++i) {
    const std::size_t size = 16 * static_cast<std::size_t>(i % 50);
    (void)arena.allocate(size);
    bytes += size;
  }
  const ArenaTotals totals = arena.totals();
  EXPECT_EQ(totals.bytes, bytes);  // Multiples of 16: no padding.
  EXPECT_EQ(totals.samples, log.allocated.size());
  std::uint64_t certain = 0, certain_bytes = 0, tails = 0;
  for (const ArenaSample& sample : log.allocated) {
    certain += sample.is_certain;
    if (sample.is_certain) {
      certain_bytes += sample.size;
    } else {
      tails += sample.size - sample.offset - 1;
    }
  }
  EXPECT_EQ(totals.certain, certain);
  EXPECT_EQ(totals.hits, log.allocated.size() - certain);
  EXPECT_EQ(totals.trials, bytes - certain_bytes - tails);
  EXPECT_NEAR(totals.expected_hits, static_cast<double>(totals.trials) / 700, 1e-6);
  EXPECT_LT(std::abs(totals.z()), 5);
}

TEST(Arena, FreesWhatItSampledOnce) {
  Log log;
  {
    Arena arena(with(log, 200, 3));
    for (int i = 0; i < 1000; ++i) (void)arena.allocate(40);
    EXPECT_GT(log.allocated.size(), 100U);
    EXPECT_EQ(log.freed.size(), 0U);
    arena.reset();
    EXPECT_EQ(log.freed.size(), log.allocated.size());
    arena.reset();
    EXPECT_EQ(log.freed.size(), log.allocated.size());
    for (int i = 0; i < 1000; ++i) (void)arena.allocate(40);
    arena.release();
    EXPECT_EQ(log.freed.size(), log.allocated.size());
    for (int i = 0; i < 1000; ++i) (void)arena.allocate(40);
  }
  EXPECT_EQ(log.freed.size(), log.allocated.size());
}

TEST(Arena, GivesAllChunksBack) {
  Upstream upstream;
  {
    ArenaOptions options;
    options.upstream = &upstream;
    options.chunk_size = 4096;
    Arena arena(options);
    EXPECT_EQ(upstream.blocks, 0);
    for (int i = 0; i < 1000; ++i) (void)arena.allocate(static_cast<std::size_t>(i % 3000));
    EXPECT_GT(upstream.blocks, 100);
    arena.reset();
    EXPECT_EQ(upstream.blocks, 1);
    for (int i = 0; i < 40; ++i) (void)arena.allocate(100, 4);
    EXPECT_EQ(upstream.blocks, 1);  // The kept chunk is used from its begin.
    arena.release();
    EXPECT_EQ(upstream.blocks, 0);
    (void)arena.allocate(100000);
    arena.reset();
    EXPECT_EQ(upstream.blocks, 0);
    (void)arena.allocate(1);
  }
  EXPECT_EQ(upstream.blocks, 0);
  EXPECT_EQ(upstream.bytes, 0U);
}

TEST(Arena, BigObjectsLeaveTheChunkAtHand) {
  Upstream upstream;
  ArenaOptions options;
  options.upstream = &upstream;
  options.chunk_size = 4096;
  Arena arena(options);
  auto* before = static_cast<std::byte*>(arena.allocate(16));
  (void)arena.allocate(5000);
  auto* after = static_cast<std::byte*>(arena.allocate(16));
  EXPECT_EQ(after - before, 16);
  EXPECT_EQ(upstream.blocks, 2);
}

TEST(Arena, AlignsBeyondItsChunks) {
  Arena arena;
  for (std::size_t alignment = 1; alignment <= std::size_t{1} << 20; alignment *= 2) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100000}}) {
      const auto place = reinterpret_cast<std::uintptr_t>(arena.allocate(size, alignment));
      EXPECT_EQ(place % alignment, 0U);
      EXPECT_NE(place, 0U);
    }
  }
}

// Volatile: sizes and alignments that are known only at run time.
TEST(Arena, RefusesWhatHasNoMeaning) {
  Upstream upstream;
  ArenaOptions with_upstream;
  with_upstream.upstream = &upstream;
  Arena arena(with_upstream);
  for (const bool is_used : {false, true}) {
    for (volatile std::size_t wrong : {std::size_t{0}, std::size_t{3}, std::size_t{24}, SIZE_MAX}) {
      EXPECT_THROW((void)arena.allocate(8, wrong), std::invalid_argument) << wrong;
    }
    for (volatile std::size_t wrong : {SIZE_MAX, SIZE_MAX - 15, std::size_t{PTRDIFF_MAX} + 1,
                                       std::size_t{PTRDIFF_MAX}, std::size_t{PTRDIFF_MAX} - 64}) {
      EXPECT_THROW((void)arena.allocate(wrong, 1), std::bad_alloc) << wrong;
      EXPECT_THROW((void)arena.allocate(wrong, std::size_t{1} << 63), std::bad_alloc) << wrong;
    }
    if (!is_used) (void)arena.allocate(100);
  }
  for (const std::size_t wrong : {std::size_t{0}, std::size_t{255}, SIZE_MAX}) {
    ArenaOptions options;
    options.chunk_size = wrong;
    EXPECT_THROW(Arena{options}, std::invalid_argument) << wrong;
  }
  EXPECT_THROW((void)ArenaAllocator<double>(arena).allocate(SIZE_MAX / 4),
               std::bad_array_new_length);
}

// Catches a slow path that changes state before upstream has answered.
TEST(Arena, GoesOnWhereUpstreamFailed) {
  Log log;
  Upstream upstream;
  ArenaOptions options = with(log, 300, 4);
  options.upstream = &upstream;
  options.chunk_size = 1024;
  Arena arena(options);
  sampling::CounterSampler naive = twin(4, 300, true);
  std::size_t samples = 0;
  for (int i = 0; i < 3000; ++i) {
    upstream.fails = true;
    bool is_done = false;
    try {
      (void)arena.allocate(48);
      is_done = true;
    } catch (const std::bad_alloc&) {
      upstream.fails = false;
    }
    if (!is_done) (void)arena.allocate(48);
    samples += naive.trial(48).kind == Kind::kSampled;
    ASSERT_EQ(log.allocated.size(), samples) << i;
  }
}

TEST(Arena, SwitchesSamplingOffAndOn) {
  Log log;
  Arena arena(with(log, 100, 6));
  for (int i = 0; i < 100; ++i) (void)arena.allocate(100);
  const std::size_t before = log.allocated.size();
  EXPECT_GT(before, 30U);
  arena.set_interval(0);
  EXPECT_EQ(arena.interval(), 0U);
  const std::uint64_t trials = arena.totals().trials;
  for (int i = 0; i < 1000; ++i) (void)arena.allocate(100);
  EXPECT_EQ(log.allocated.size(), before);
  EXPECT_EQ(arena.totals().trials, trials);
  arena.set_interval(100);
  for (int i = 0; i < 100; ++i) (void)arena.allocate(100);
  EXPECT_GT(log.allocated.size(), before + 30);
  arena.set_interval(UINT64_MAX);
  const std::size_t huge = log.allocated.size();
  for (int i = 0; i < 1000; ++i) (void)arena.allocate(100);
  EXPECT_EQ(log.allocated.size(), huge);
}

// The new T holds from the object behind a slow path on, and no sample is lost by it.
TEST(Arena, FollowsTheIntervalOfItsSink) {
  struct Told : Log {
    std::uint64_t interval = 1;
  } told;
  ArenaOptions options;
  options.chunk_size = 256;
  options.interval = 77;
  options.sink = told.sink();
  options.sink.context = static_cast<Log*>(&told);
  options.sink.interval = [](void* log) noexcept {
    return static_cast<Told*>(static_cast<Log*>(log))->interval;
  };
  Arena arena(options);
  EXPECT_EQ(arena.interval(), 1U);
  told.interval = 0;
  (void)arena.allocate(16);
  ASSERT_EQ(told.allocated.size(), 1U);
  EXPECT_EQ(told.allocated[0].lambda, sampling::rate_of(1));
  EXPECT_EQ(arena.interval(), 0U);
  told.interval = 1;
  for (int i = 0; i < 14; ++i) (void)arena.allocate(16);  // To the end of the chunk.
  EXPECT_EQ(told.allocated.size(), 1U);
  for (int i = 0; i < 10; ++i) (void)arena.allocate(16);
  EXPECT_EQ(told.allocated.size(), 10U);
}

}  // namespace
}  // namespace geiger
