// The law of what an arena samples: objects independently of each other, of the chunks
// they lie in and of the padding between them, each with probability 1 - q^size.
//
// Seeds are fixed. Limits are what a right arena with fresh seeds would exceed with a
// probability below 1e-6 per comparison (|z| < 5: 5.7e-7); coverages may differ from the
// predicted ones by four standard errors (6e-5).
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "estimation/estimate.h"
#include "estimation/sums.h"
#include "geiger/arena.h"
#include "research/coverage.h"
#include "sampling/test_geometric_law.h"

namespace geiger {
namespace {

using estimation::NodeSums;
using sampling::survival;
using sampling::z_score;

constexpr std::uint64_t kInterval = 1024;

struct Object {
  std::size_t size;
  std::size_t alignment;
};

struct Hits {
  std::size_t count = 0;
  std::vector<double> offsets;
  NodeSums sums;

  SampleSink sink() {
    return {this,
            [](void* hits, const ArenaSample& sample) noexcept {
              static_cast<Hits*>(hits)->add(sample);
            },
            nullptr};
  }

  void add(const ArenaSample& sample) {
    ++count;
    if (sample.offset < offsets.size()) ++offsets[sample.offset];
    sample.is_certain ? sums.add_certain(sample.size) : sums.add(sample.size, sample.lambda);
  }
};

ArenaOptions with(Hits& hits, std::uint64_t seed, bool is_pure = true) {
  ArenaOptions options;
  options.interval = kInterval;
  options.seed = seed;
  options.is_pure = is_pure;
  options.chunk_size = 1024;
  options.sink = hits.sink();
  return options;
}

// Objects of one size, apart by what they follow. Had the arena forgotten or kept
// anything that it should not, one of these would show it.
struct Tally {
  double all[2]{}, after_hit[2]{}, after_miss[2]{}, first_of_chunk[2]{};  // Objects, hits.

  static void add(double (&pair)[2], bool is_hit) {
    ++pair[0];
    pair[1] += is_hit;
  }
};

bool allocate(Arena& arena, const Hits& hits, Object object) {
  const std::size_t before = hits.count;
  (void)arena.allocate(object.size, object.alignment);
  return hits.count != before;
}

// 16 to 24 objects per chunk of 1 KiB; alignments leave no padding, 8 and 24 bytes.
Tally tally(Object object, bool discards, std::uint64_t seed) {
  Hits hits;
  ArenaOptions options = with(hits, seed);
  options.interval = 128;
  options.discards_on_refill = discards;
  Arena arena(options);
  Tally result;
  bool was_hit = false;
  std::uintptr_t end = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    if (i % 100'000 == 0) arena.release();
    const std::size_t before = hits.count;
    const auto begin =
        reinterpret_cast<std::uintptr_t>(arena.allocate(object.size, object.alignment));
    const bool is_hit = hits.count != before;
    Tally::add(result.all, is_hit);
    if (i > 0) Tally::add(was_hit ? result.after_hit : result.after_miss, is_hit);
    if (begin - end >= object.alignment) Tally::add(result.first_of_chunk, is_hit);
    end = begin + object.size;
    was_hit = is_hit;
  }
  return result;
}

// With padding kept out of the slow path's trials |z| is 68 to 214 where there is padding;
// with a redraw at each refill only if the hit is near, 87 at the first objects of chunks.
TEST(ArenaLaw, ObjectsAreIndependentAcrossRefillsAndPadding) {
  for (const bool discards : {false, true}) {
    for (const Object object : {Object{48, 16}, {40, 16}, {40, 64}, {1, 1}}) {
      const Tally result = tally(object, discards, 11);
      const double pi = 1 - survival(object.size, 128);
      EXPECT_GT(result.first_of_chunk[0], 900);
      for (const auto* pair :
           {result.all, result.after_hit, result.after_miss, result.first_of_chunk}) {
        EXPECT_LT(std::abs(z_score(pair[1], pair[0], pi)), 5)
            << object.size << "/" << object.alignment << " discards " << discards << " of "
            << pair[0];
      }
    }
  }
}

TEST(ArenaLaw, OffsetsAreTruncatedGeometric) {
  for (const Object object : {Object{40, 64}, {16, 16}, {100, 4}}) {
    Hits hits;
    hits.offsets.resize(object.size);
    ArenaOptions options = with(hits, 22);
    options.interval = 64;
    Arena arena(options);
    for (int i = 0; i < 1'000'000; ++i) (void)allocate(arena, hits, object);
    EXPECT_GT(sampling::chi_square_p(hits.offsets, sampling::offset_probabilities(object.size, 64)),
              1e-6)
        << object.size;
  }
}

// Mixed sizes, some with chunks of their own and some certain, with odd alignments.
std::vector<Object> mixture(std::size_t count) {
  sampling::Xoshiro256pp random(17);
  std::vector<Object> objects;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = 1 + random.next() % 2048 / (1 + random.next() % 50);
    objects.push_back({size, std::size_t{1} << random.next() % 7});
  }
  return objects;
}

double bytes_of(const std::vector<Object>& objects) {
  double bytes = 0;
  for (const Object& object : objects) bytes += static_cast<double>(object.size);
  return bytes;
}

NodeSums record(const std::vector<Object>& objects, std::uint64_t seed, bool is_pure) {
  Hits hits;
  hits.sums.could_have_sampled(static_cast<double>(kInterval));
  Arena arena(with(hits, seed, is_pure));
  for (const Object& object : objects) (void)arena.allocate(object.size, object.alignment);
  return hits.sums;
}

research::Site site_of(const std::vector<Object>& objects, bool is_pure) {
  research::Site site;
  site.interval = kInterval;
  site.is_pure = is_pure;
  for (const Object& object : objects) site.objects.push_back({object.size, 1});
  return site;
}

// Arenas of 2 to 90 T, as those of requests are: each starts with a fresh draw.
TEST(ArenaLaw, EstimatesAreUnbiasedAndIntervalsCover) {
  constexpr int kRuns = 4000;
  for (const std::size_t count : {std::size_t{20}, std::size_t{200}, std::size_t{1000}}) {
    const std::vector<Object> objects = mixture(count);
    const double truth = bytes_of(objects);
    for (const bool is_pure : {false, true}) {
      double errors = 0, squares = 0, covered = 0;
      for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
        const auto estimate = estimation::estimate_bytes(record(objects, seed, is_pure), 0.95);
        errors += estimate.value - truth;
        squares += (estimate.value - truth) * (estimate.value - truth);
        covered += estimate.interval.lo <= truth && truth <= estimate.interval.hi;
      }
      EXPECT_LT(std::abs(errors / std::sqrt(squares)), 5) << count;
      const auto predicted =
          research::predicted_coverage(site_of(objects, is_pure), 0.95, estimation::Form::kTotal);
      const double variance = predicted.covered * (1 - predicted.covered) / kRuns +
                              predicted.standard_error * predicted.standard_error;
      EXPECT_LT(std::abs(covered / kRuns - predicted.covered), 4 * std::sqrt(variance) + 1e-9)
          << count << " of " << truth << " bytes, pure " << is_pure;
      RecordProperty("coverage_" + std::to_string(count) + (is_pure ? "_pure" : ""),
                     std::to_string(covered / kRuns));
    }
  }
}

// T changes, and sampling goes off and on, at moments that know the past only: both rates
// stay right. Keeping the old skip fails both.
TEST(ArenaLaw, ChangesOfTheIntervalKeepTheRates) {
  constexpr int kRounds = 20000;
  constexpr Object kObject{24, 8};
  constexpr std::uint64_t kIntervals[] = {64, 0, 1024};
  double hits_of[3]{};
  Hits hits;
  Arena arena(with(hits, 33));
  for (int i = 0; i < 3 * kRounds; ++i) {
    arena.set_interval(kIntervals[i % 3]);
    for (int k = 0; k < 30; ++k) hits_of[i % 3] += allocate(arena, hits, kObject);
  }
  for (const int i : {0, 2}) {
    const double pi = 1 - survival(kObject.size, kIntervals[i]);
    EXPECT_LT(std::abs(z_score(hits_of[i], 30.0 * kRounds, pi)), 5) << kIntervals[i];
  }
  EXPECT_EQ(hits_of[1], 0);
}

// The profiler changes T now and then, and arenas find out when a drawn byte or a refill
// brings them to their slow path: behind the byte that was drawn at the old T. Estimates
// stay unbiased. Redrawing before the object at hand is decided loses it: |z| = 51.
TEST(ArenaLaw, IntervalsThatAreFollowedKeepEstimatesUnbiased) {
  struct Told : Hits {
    std::uint64_t interval = 64;
  };
  constexpr Object kObject{24, 8};
  double errors = 0, squares = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    Told told;
    ArenaOptions options = with(told, seed);
    options.sink.context = static_cast<Hits*>(&told);
    options.sink.interval = [](void* hits) noexcept {
      return static_cast<Told*>(static_cast<Hits*>(hits))->interval;
    };
    Arena arena(options);
    for (int i = 0; i < 400; ++i) {
      told.interval = i / 20 % 2 == 0 ? 64 : 512;
      (void)allocate(arena, told, kObject);
    }
    const double error = told.sums.weighted_bytes - 400.0 * kObject.size;
    errors += error;
    squares += error * error;
  }
  EXPECT_LT(std::abs(errors / std::sqrt(squares)), 5);
}

// z of the totals is standard normal: mean 0 +- 1/sqrt(n), mean square 1 +- sqrt(2/n), both
// within five of these. Padding is tried and hit like objects are.
TEST(ArenaLaw, TotalsCheckThemselves) {
  const std::vector<Object> objects = mixture(2000);
  constexpr int kArenas = 1000;
  double sum = 0, squares = 0;
  for (int i = 1; i <= kArenas; ++i) {
    Hits hits;
    Arena arena(with(hits, 1000 + i, i % 2 == 0));
    for (const Object& object : objects) (void)arena.allocate(object.size, object.alignment);
    const double z = arena.totals().z();
    sum += z;
    squares += z * z;
  }
  EXPECT_LT(std::abs(sum / std::sqrt(kArenas)), 5);
  EXPECT_NEAR(squares / kArenas, 1, 5 * std::sqrt(2.0 / kArenas));
}

}  // namespace
}  // namespace geiger
