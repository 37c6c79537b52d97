#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <thread>

#include "api/test_program.h"
#include "estimation/sums.h"

namespace geiger::api {
namespace {

using test::allocate;
using test::kInterval;
using test::release;
using test::samples_of;

geiger_token started(geiger_profile_kind kind, std::uint64_t interval = 0) {
  geiger_token token;
  EXPECT_EQ(geiger_start_profile(kind, interval, &token), GEIGER_OK);
  return token;
}

geiger_profile stopped(geiger_token token) {
  geiger_profile profile;
  EXPECT_EQ(geiger_stop_profile(token, &profile), GEIGER_OK);
  return profile;
}

/// A sample's identity and weight.
struct Seen {
  std::uint64_t number;
  std::uint64_t offset;
  double weight;
  bool operator==(const Seen&) const = default;
};
void PrintTo(const Seen& seen, std::ostream* out) {
  *out << seen.number << "@" << seen.offset << " x" << seen.weight;
}

std::vector<Seen> seen_in(geiger_profile profile, std::uint64_t from = 0,
                          std::uint64_t to = ~std::uint64_t{0}) {
  std::vector<Seen> seen;
  for (const geiger_sample& sample : samples_of(profile)) {
    const std::uint64_t number = test::number_of(sample.address);
    if (number >= from && number < to) seen.push_back({number, sample.offset, sample.weight});
  }
  return seen;
}

struct Window {
  std::uint64_t interval;
  std::uint64_t from = 0, to = 0;  // Numbers of allocations.
  geiger_token token{};
  geiger_profile profile{};

  void start(geiger_profile_kind kind) {
    from = test::allocations + 1;
    token = started(kind, interval);
  }
  void stop() {
    profile = stopped(token);
    to = test::allocations + 1;
  }
};

/// Allocates, and frees some of the live objects.
class Churn {
 public:
  explicit Churn(std::uint64_t seed) : random_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      const std::uint64_t size = test::random_size(random_);
      const std::uint64_t address = allocate(size);
      sizes_.emplace(test::number_of(address), size);
      live_.push_back(address);
      if (random_() % 3 == 0) free_one();
    }
  }

  void free_one() {
    std::swap(live_[random_() % live_.size()], live_.back());
    freed_.emplace(test::number_of(live_.back()), test::allocations);
    release(live_.back());
    live_.pop_back();
  }
  void free_all() {
    while (!live_.empty()) free_one();
  }

  /// Size of every allocation, by number; and how many there were when it was freed.
  const std::map<std::uint64_t, std::uint64_t>& sizes() const { return sizes_; }
  const std::map<std::uint64_t, std::uint64_t>& freed() const { return freed_; }
  std::set<std::uint64_t> live() const {
    std::set<std::uint64_t> numbers;
    for (const std::uint64_t address : live_) numbers.insert(test::number_of(address));
    return numbers;
  }

 private:
  std::mt19937_64 random_;
  std::map<std::uint64_t, std::uint64_t> sizes_, freed_;
  std::vector<std::uint64_t> live_;
};

TEST(Tokens, EachIsTheStreamBetweenItsStartAndItsStop) {
  Churn churn(1);
  Window whole{kInterval}, own{0}, coarse{8 * kInterval}, fine{kInterval / 4}, late{0},
      coarse_too{8 * kInterval};
  whole.start(GEIGER_ALLOCATIONS);
  Window coarse_whole{8 * kInterval};
  coarse_whole.start(GEIGER_ALLOCATIONS);
  churn.run(500);
  own.start(GEIGER_ALLOCATIONS);
  coarse.start(GEIGER_ALLOCATIONS);
  churn.run(500);
  fine.start(GEIGER_ALLOCATIONS);  // From now on the process samples at a smaller interval.
  churn.run(700);
  late.start(GEIGER_ALLOCATIONS);
  own.stop();
  coarse_too.start(GEIGER_ALLOCATIONS);
  churn.run(500);
  fine.stop();
  coarse.stop();
  churn.run(300);
  late.stop();
  coarse_too.stop();
  coarse_whole.stop();
  whole.stop();
  for (const Window* window : {&own, &late}) {
    const std::vector<Seen> seen = seen_in(window->profile);
    EXPECT_GT(seen.size(), 100);
    EXPECT_EQ(seen, seen_in(whole.profile, window->from, window->to));
  }
  for (const Window* window : {&coarse, &coarse_too}) {
    EXPECT_EQ(seen_in(window->profile), seen_in(coarse_whole.profile, window->from, window->to));
  }
  // Finer ones contain all of the coarser.
  const std::vector<Seen> fine_seen = seen_in(fine.profile);
  std::set<std::uint64_t> numbers;
  for (const Seen& seen : fine_seen) numbers.insert(seen.number);
  const std::vector<Seen> contained = seen_in(whole.profile, fine.from, fine.to);
  EXPECT_GT(fine_seen.size(), contained.size() + 100);
  for (const Seen& seen : contained) EXPECT_TRUE(numbers.contains(seen.number));
}

TEST(Tokens, ReadTheSameAgain) {
  Churn churn(2);
  Window window{3 * kInterval};
  window.start(GEIGER_ALLOCATIONS);
  churn.run(1000);
  window.stop();
  const std::vector<Seen> first = seen_in(window.profile);
  churn.run(1000);
  EXPECT_EQ(seen_in(window.profile), first);
}

TEST(Tokens, TellWhatWasFreedBeforeTheirStop) {
  Churn churn(3);
  Window censored{0}, complete{0};
  ASSERT_EQ(geiger_start_recording(), GEIGER_OK);
  churn.run(300);  // Some objects freed later were allocated before.
  censored.start(GEIGER_LIFETIMES);
  complete.start(GEIGER_COMPLETE_LIFETIMES);
  const std::uint64_t outlives = allocate(2 * kInterval);  // Where others' frees may go astray.
  churn.run(1000);
  censored.stop();
  complete.stop();
  release(outlives);
  const auto freed_by_then = churn.freed();
  churn.free_all();
  std::vector<std::uint64_t> freed;
  for (const geiger_sample& sample : samples_of(censored.profile)) {
    const std::uint64_t number = test::number_of(sample.address);
    EXPECT_GE(number, censored.from);
    EXPECT_EQ(sample.is_freed != 0, freed_by_then.contains(number));
    EXPECT_GT(sample.lifetime, 0);
    if (sample.is_freed != 0) freed.push_back(number);
  }
  std::vector<std::uint64_t> seen;
  for (const Seen& sample : seen_in(complete.profile)) seen.push_back(sample.number);
  EXPECT_GT(freed.size(), 20);
  EXPECT_EQ(seen, freed);
  EXPECT_EQ(geiger_stop_recording(), GEIGER_OK);
}

TEST(Tokens, TellWhoFreed) {
  ASSERT_EQ(geiger_record_free_stacks(1), GEIGER_OK);
  const geiger_token token = started(GEIGER_LIFETIMES);
  const std::uint64_t by_other = allocate(3 * kInterval);
  const std::uint64_t by_self = allocate(3 * kInterval);
  const std::uint64_t lives = allocate(3 * kInterval);
  release(by_self);
  std::uint32_t other = 0;
  std::thread([&] {
    capture::begin_thread();
    allocate(2 * kInterval);  // So that it is known.
    release(by_other);
    other = static_cast<std::uint32_t>(gettid());
    capture::end_thread();
  }).join();
  ASSERT_EQ(geiger_record_free_stacks(0), GEIGER_OK);
  const std::uint64_t unseen = allocate(3 * kInterval);
  release(unseen);
  const geiger_profile profile = stopped(token);
  std::size_t seen = 0;
  for (const geiger_sample& sample : samples_of(profile)) {
    EXPECT_EQ(sample.alignment, 16);
    if (sample.requested != 3 * kInterval) continue;
    ++seen;
    const auto self = static_cast<std::uint32_t>(gettid());
    EXPECT_EQ(sample.thread, self);
    EXPECT_EQ(sample.is_freed != 0, sample.address != lives);
    const bool has_stack = sample.address == by_self || sample.address == by_other;
    EXPECT_EQ(sample.free_frame_count > 0, has_stack) << test::number_of(sample.address);
    EXPECT_EQ(sample.free_frames != nullptr, has_stack);
    if (sample.address == by_self) {
      EXPECT_EQ(sample.free_thread, self);
    }
    if (sample.address == by_other) {
      EXPECT_EQ(sample.free_thread, other);
    }
    if (sample.address == lives) {
      EXPECT_EQ(sample.free_thread, 0);
    }
  }
  EXPECT_EQ(seen, 4);
  release(lives);
}

TEST(Tokens, OfOtherThreadsEndToo) {
  Window window{0};
  window.start(GEIGER_ALLOCATIONS);
  std::thread([&] {
    allocate(10 * kInterval);
    window.stop();
  }).join();
  EXPECT_EQ(samples_of(window.profile).size(), 1);
}

TEST(Tokens, LeaveTheIntervalAsItWas) {
  std::uint64_t own = 0;
  geiger_recorder recorder;
  const geiger_token finer = started(GEIGER_ALLOCATIONS, 100);
  const geiger_token finest = started(GEIGER_ALLOCATIONS, 10);
  ASSERT_EQ(geiger_get_status(&recorder), GEIGER_OK);
  EXPECT_EQ(recorder.interval, 10);
  EXPECT_EQ(recorder.own_interval, kInterval);
  EXPECT_EQ(recorder.open_tokens, 2);
  EXPECT_EQ(geiger_set_sampling_interval(2 * kInterval), GEIGER_OK);
  EXPECT_EQ(geiger_stop_profile(finest, nullptr), GEIGER_OK);
  geiger_get_status(&recorder);
  EXPECT_EQ(recorder.interval, 100);
  EXPECT_EQ(geiger_stop_profile(finer, nullptr), GEIGER_OK);
  EXPECT_EQ(geiger_get_sampling_interval(&own), GEIGER_OK);
  EXPECT_EQ(own, 2 * kInterval);
  geiger_get_status(&recorder);
  EXPECT_EQ(recorder.interval, 2 * kInterval);
  EXPECT_EQ(recorder.is_paused, 1);
  EXPECT_EQ(geiger_set_sampling_interval(kInterval), GEIGER_OK);
}

TEST(Snapshots, HoldWhatLives) {
  Churn churn(4);
  ASSERT_EQ(geiger_start_recording(), GEIGER_OK);
  Window all{0};
  all.start(GEIGER_ALLOCATIONS);
  churn.run(2000);
  geiger_profile live;
  ASSERT_EQ(geiger_take_snapshot(GEIGER_LIVE, &live), GEIGER_OK);
  all.stop();
  std::vector<Seen> expected;
  const std::set<std::uint64_t> numbers = churn.live();
  for (const Seen& seen : seen_in(all.profile)) {
    if (numbers.contains(seen.number)) expected.push_back(seen);
  }
  EXPECT_GT(expected.size(), 100);
  EXPECT_EQ(seen_in(live, all.from), expected);
  EXPECT_EQ(geiger_stop_recording(), GEIGER_OK);
  EXPECT_EQ(geiger_stop_recording(), GEIGER_ALREADY_STOPPED);
}

TEST(Snapshots, AreRefusedWhereNothingIsRecorded) {
  geiger_profile profile{7};
  EXPECT_EQ(geiger_take_snapshot(GEIGER_LIVE, &profile), GEIGER_NOT_RECORDING);
  EXPECT_EQ(profile.id, 0);
  ASSERT_EQ(geiger_start_recording(), GEIGER_OK);
  const std::uint64_t address = allocate(10 * kInterval);
  ASSERT_EQ(geiger_take_snapshot(GEIGER_LIVE, &profile), GEIGER_OK);
  EXPECT_EQ(geiger_free_profile(profile), GEIGER_OK);
  EXPECT_EQ(geiger_stop_recording(), GEIGER_OK);
  // Nothing would record allocations from now on.
  for (const geiger_profile_kind kind :
       {GEIGER_LIVE, GEIGER_PEAK, GEIGER_FRAGMENTATION, GEIGER_RESIDENCY}) {
    EXPECT_EQ(geiger_take_snapshot(kind, &profile), GEIGER_NOT_RECORDING) << kind;
    EXPECT_EQ(profile.id, 0);
  }
  release(address);
}

/// In a process of its own, whose recording has not begun.
TEST(Snapshots, HaveTheLimitsOfTheIntervalThatWasSetBeforeRecording) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    bool is_right = geiger_set_sampling_interval(64 * kInterval) == GEIGER_OK &&
                    geiger_set_sampling_interval(100) == GEIGER_OK &&
                    geiger_start_recording() == GEIGER_OK;
    geiger_profile profile;
    geiger_profile_info info;
    is_right &= geiger_take_snapshot(GEIGER_LIVE, &profile) == GEIGER_OK &&
                geiger_get_profile_info(profile, &info) == GEIGER_OK && info.interval == 100;
    // From now on live objects may have been drawn with a larger one.
    is_right &= geiger_set_sampling_interval(5000) == GEIGER_OK &&
                geiger_set_sampling_interval(50) == GEIGER_OK &&
                geiger_take_snapshot(GEIGER_LIVE, &profile) == GEIGER_OK &&
                geiger_get_profile_info(profile, &info) == GEIGER_OK && info.interval == 5000;
    _exit(is_right ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Snapshots, MeasureFragmentation) {
  const geiger_token recording = started(GEIGER_ALLOCATIONS);
  const std::uint64_t address = allocate(10 * kInterval + 5);
  geiger_profile profile;
  ASSERT_EQ(geiger_take_snapshot(GEIGER_FRAGMENTATION, &profile), GEIGER_OK);
  const std::vector<geiger_sample> samples = samples_of(profile);
  const auto at = std::ranges::find(samples, address, &geiger_sample::address);
  ASSERT_NE(at, samples.end());
  EXPECT_EQ(at->value, 5);
  EXPECT_EQ(geiger_stop_profile(recording, nullptr), GEIGER_OK);
}

TEST(Snapshots, OfThePeakAreExactWhereEverythingIsDrawn) {
  ASSERT_EQ(geiger_set_sampling_interval(1), GEIGER_OK);
  ASSERT_EQ(geiger_start_recording(), GEIGER_OK);
  std::vector<std::uint64_t> live;
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 30;  // Above all other tests' peaks.
  for (int i = 0; i < 10; ++i) live.push_back(allocate(kLarge));
  const std::uint64_t last = live.back();
  release(live.front());
  live.front() = allocate(kLarge / 2);
  geiger_profile peak;
  ASSERT_EQ(geiger_take_snapshot(GEIGER_PEAK, &peak), GEIGER_OK);
  std::uint64_t bytes = 0;
  std::uint64_t latest = 0;
  for (const geiger_sample& sample : samples_of(peak)) {
    if (sample.requested != kLarge) continue;
    bytes += sample.requested;
    latest = std::max(latest, sample.address);
  }
  EXPECT_EQ(bytes, 10 * kLarge);
  EXPECT_EQ(latest, last);
  for (const std::uint64_t address : live) release(address);
  EXPECT_EQ(geiger_stop_recording(), GEIGER_OK);
  ASSERT_EQ(geiger_set_sampling_interval(kInterval), GEIGER_OK);
}

TEST(Snapshots, OfResidencySeeEveryPage) {
  constexpr std::uint64_t kPage = 4096;
  constexpr std::uint64_t kPages = 3000;  // Several times the size of one query.
  char* memory = static_cast<char*>(mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, kPages * kPage, MADV_NOHUGEPAGE);
  const geiger_token recording = started(GEIGER_ALLOCATIONS, 1);
  // Objects begin and end within pages; some pages are touched.
  const auto start = reinterpret_cast<std::uint64_t>(memory);
  const std::uint64_t end = start + kPages * kPage;
  std::mt19937_64 random(6);
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t at = start; at < end;) {
    const std::uint64_t size = std::min(end - at, 1 + random() % (5 * kPage));
    addresses.push_back(test::allocate_at(at, size));
    at += size;
  }
  for (std::uint64_t page = 0; page < kPages; ++page) {
    if (random() % 3 == 0) memory[page * kPage] = 1;
  }
  geiger_profile profile;
  ASSERT_EQ(geiger_take_snapshot(GEIGER_RESIDENCY, &profile), GEIGER_OK);
  std::vector<unsigned char> states(kPages);
  ASSERT_EQ(mincore(memory, kPages * kPage, states.data()), 0);
  const bool knows_pages = access("/proc/self/pagemap", R_OK) == 0;
  std::size_t seen = 0;
  for (const geiger_sample& sample : samples_of(profile)) {
    if (sample.address < start || sample.address >= end) continue;
    ++seen;
    std::uint64_t resident = 0;
    for (std::uint64_t byte = sample.address; byte < sample.address + sample.requested; ++byte) {
      resident += states[(byte - start) / kPage] & 1;
    }
    EXPECT_EQ(sample.value, resident);
    // Nothing is in swap: pages that are not in memory were never touched.
    if (knows_pages && sample.swapped == 0) {
      EXPECT_EQ(sample.untouched, sample.requested - resident);
    }
  }
  EXPECT_EQ(seen, addresses.size());
  EXPECT_EQ(geiger_stop_profile(recording, nullptr), GEIGER_OK);
  for (const std::uint64_t address : addresses) release(address);
  munmap(memory, kPages * kPage);
}

/// 200 windows of one stream are independent, so each is a separate trial.
class ThinningLaw : public ::testing::Test {
 protected:
  struct Sums {
    double difference = 0, variance = 0;   // Of numbers of samples from their expectation.
    double error = 0, error_variance = 0;  // Of estimates.
    int covered = 0;
  };

  /// The samples that a token at this interval should see of these allocations.
  static void add(Sums& sums, const Window& window,
                  const std::map<std::uint64_t, std::uint64_t>& sizes) {
    const auto interval = static_cast<double>(window.interval);
    const double lambda = estimation::rate_of_interval(interval);
    double truth = 0;
    double expected = 0;
    double variance = 0;
    for (auto at = sizes.lower_bound(window.from); at != sizes.end() && at->first < window.to;
         ++at) {
      const std::uint64_t size = at->second;
      const double pi =
          size >= window.interval ? 1 : estimation::inclusion_probability(size, lambda);
      truth += static_cast<double>(size);
      expected += pi;
      variance += pi * (1 - pi);
    }
    geiger_estimate estimate;
    ASSERT_EQ(
        geiger_estimate_total(window.profile, GEIGER_BYTES, 0, nullptr, nullptr, 0.95, &estimate),
        GEIGER_OK);
    sums.difference += static_cast<double>(seen_in(window.profile).size()) - expected;
    sums.variance += variance;
    sums.error += estimate.value - truth;
    sums.error_variance += estimate.variance;
    sums.covered += estimate.lowest <= truth && truth <= estimate.highest;
  }

  /// Four standard deviations each: a false alarm in 16,000. The intervals cover with a
  /// probability of at least 0.95, so at 200 trials at least 0.95 - 4 * 0.0154 of them.
  static void check(const Sums& sums) {
    EXPECT_LT(std::abs(sums.difference), 4 * std::sqrt(sums.variance));
    EXPECT_LT(std::abs(sums.error), 4 * std::sqrt(sums.error_variance));
    EXPECT_GE(sums.covered, 200 * (0.95 - 4 * 0.0154));
  }
};

TEST_F(ThinningLaw, IsThatOfARecordingAtTheTokensInterval) {
  Churn churn(5);
  Sums coarse_sums, own_sums, fine_sums;
  for (int trial = 0; trial < 200; ++trial) {
    Window coarse{5 * kInterval}, own{kInterval}, fine{kInterval / 3};
    coarse.start(GEIGER_ALLOCATIONS);
    own.start(GEIGER_ALLOCATIONS);
    churn.run(60);
    fine.start(GEIGER_ALLOCATIONS);
    churn.run(120);
    fine.stop();
    churn.run(60);
    own.stop();
    coarse.stop();
    add(coarse_sums, coarse, churn.sizes());
    add(own_sums, own, churn.sizes());
    add(fine_sums, fine, churn.sizes());
    for (const Window* window : {&coarse, &own, &fine}) {
      EXPECT_EQ(geiger_free_profile(window->profile), GEIGER_OK);
    }
  }
  check(coarse_sums);
  check(own_sums);
  check(fine_sums);
}

}  // namespace
}  // namespace geiger::api
