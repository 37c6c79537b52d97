// A handler between the load and the store of the fast path's counter, if they are separate
// instructions (tables/aarch64/machine.h): the loss stays within docs/internals/estimators.md,
// section 2.3.
#include "runtime/capture/thread/countdown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace geiger::capture {
namespace {

constexpr std::uint64_t kInterval = 64;
constexpr std::uint64_t kMeanwhile = std::uint64_t{1} << 20;

/// One thread's counter and sampler, as settling.cc and sample.cc use them.
class Thread {
 public:
  explicit Thread(std::uint64_t seed) {
    sampler_.start(seed, kInterval, -std::log1p(-1.0 / kInterval), false);
    arm();
  }

  void allocate(std::uint64_t size) {
    const std::uint64_t loaded = counter_;
    finish(loaded, size);
  }
  /// Allocates `size`, with a handler that allocates `inside` after the counter is loaded.
  void allocate_around(std::uint64_t size, const std::vector<std::uint64_t>& inside) {
    const std::uint64_t loaded = counter_;
    for (const std::uint64_t bytes : inside) allocate(bytes);
    finish(loaded, size);
  }

  [[nodiscard]] std::uint64_t allocated() const { return allocated_; }
  [[nodiscard]] std::uint64_t tried() const { return tried_; }
  /// Of each drawn byte, the number of bytes allocated before it.
  [[nodiscard]] const std::vector<std::uint64_t>& drawn() const { return drawn_; }

 private:
  void finish(std::uint64_t loaded, std::uint64_t size) {
    counter_ = loaded - size;
    if (loaded < size || size == 0) decide(size);
    allocated_ += size;
  }
  void decide(std::uint64_t size) {
    const std::uint64_t rest = take_countdown(counter_, kMeanwhile, size);
    static_cast<void>(
        settle(sampler_, armed_, rest, [this](std::uint64_t bytes) { tried_ += bytes; }));
    const sampling::Verdict verdict = sampler_.decide(size);
    tried_ += size;
    if (verdict.kind == sampling::Verdict::Kind::kSampled) {
      drawn_.push_back(allocated_ + verdict.offset);
    }
    arm();
  }
  void arm() {
    armed_ = arm_countdown(
        counter_, kMeanwhile, [this] { return sampler_.countdown(); }, [](std::uint64_t) {});
  }

  sampling::CounterSampler sampler_;
  std::uint64_t counter_ = kMeanwhile;
  std::uint64_t armed_ = 0;
  std::uint64_t allocated_ = 0;
  std::uint64_t tried_ = 0;
  std::vector<std::uint64_t> drawn_;
};

std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return a < b ? b - a : a - b; }

// No size is 0 or certain. The tails of drawn objects are never tried and so displace later bytes,
// each time by less than an object; objects of one byte have no tails.
TEST(Countdown, AHandlerInBetweenDisplacesDrawnBytesByTwoIntervals) {
  std::mt19937_64 random(5);
  std::uint64_t largest = 0;
  for (int round = 0; round < 20'000; ++round) {
    Thread alone(static_cast<std::uint64_t>(round));
    Thread interrupted(static_cast<std::uint64_t>(round));
    const std::uint64_t before = random() % 200;
    for (std::uint64_t i = 0; i < before; ++i) interrupted.allocate(1);
    interrupted.allocate_around(1, std::vector<std::uint64_t>(random() % 300, 1));
    while (interrupted.drawn().size() < 20) interrupted.allocate(1);
    while (alone.drawn().size() < 20) alone.allocate(1);
    for (std::size_t i = 0; i < 20; ++i) {
      largest = std::max(largest, distance(interrupted.drawn()[i], alone.drawn()[i]));
    }
  }
  EXPECT_LE(largest, 2 * (kInterval - 1));
  EXPECT_GT(largest, kInterval / 2);  // The window has an effect.
}

TEST(Countdown, AHandlerInBetweenLosesTwoIntervalsOfTheTotalAtMost) {
  std::mt19937_64 random(6);
  std::uint64_t largest = 0;
  for (int round = 0; round < 20'000; ++round) {
    Thread thread(static_cast<std::uint64_t>(round));
    const auto allocate_some = [&](std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) thread.allocate(1 + random() % 20);
    };
    allocate_some(random() % 30);
    std::vector<std::uint64_t> inside(random() % 30);
    for (std::uint64_t& size : inside) size = 1 + random() % 20;
    thread.allocate_around(1 + random() % 20, inside);
    const std::size_t hits = thread.drawn().size();
    while (thread.drawn().size() < hits + 3) allocate_some(1);
    // Just decided: nothing is waiting to be settled.
    largest = std::max(largest, distance(thread.allocated(), thread.tried()));
  }
  EXPECT_LE(largest, 2 * (kInterval - 1));
  EXPECT_GT(largest, kInterval / 2);
}

}  // namespace
}  // namespace geiger::capture
