#include "analysis/profile/lives/teardown.h"

#include <gtest/gtest.h>

#include "analysis/profile/select/profile.h"
#include "analysis/profile/select/thinned.h"
#include "analysis/profile/testing/test_recording.h"
#include "estimation/counts.h"

namespace geiger::profile::teardown_test {
namespace {

/// A process that works from 1,000 to 11,000 ns: scratch objects all the time, and a store of
/// one object every 100 ns.
class TeardownOf : public ::testing::Test {
 protected:
  TeardownOf() : scratch_(site("scratch")), store_(site("store")) {
    test_.recording.processes[0].end = kEnd;
    for (Nanoseconds at = 1000; at < 10'900; at += 50) test_.sample(scratch_, 100, at, at + 20);
  }

  std::uint32_t site(const char* name) { return test_.stack({test_.location({name})}); }

  /// The store, each object freed when `freed_at` of its number says; 0: never.
  template <typename FreedAt>
  void store(const FreedAt& freed_at) {
    for (std::size_t i = 0; i < 98; ++i) {
      test_.sample(store_, 100, 1010 + 100 * i, freed_at(i));
    }
  }

  [[nodiscard]] Teardown found() const { return find_teardowns(test_.recording).at(0); }

  static constexpr Nanoseconds kEnd = 11'200;
  TestRecording test_;
  std::uint32_t scratch_, store_;
};

TEST_F(TeardownOf, FinalFreesAreFound) {
  store([](std::size_t i) { return 10'950 + i; });
  const Teardown teardown = found();
  EXPECT_EQ(teardown.kind, Teardown::Kind::kBurst);
  EXPECT_EQ(teardown.from, 10'950U);
  EXPECT_EQ(teardown.end, kEnd);
  EXPECT_DOUBLE_EQ(teardown.freed, teardown.live);
}

TEST_F(TeardownOf, AnInterpreterThatFinalizesEndsItsProcess) {
  store([](std::size_t i) { return 10'950 + i; });
  test_.sample(scratch_, 100, 10'940, 10'945);
  test_.recording.processes[0].ending = Ending::kExited;
  test_.recording.interpreters = {{.process = 0, .finalizing_from = 10'930}};
  Recording went_on = test_.recording;
  went_on.processes[0].end += 3'000'000'000;
  end_at_finalization(went_on);
  EXPECT_EQ(went_on.processes[0].finalizing_from, 0U) << "its end is what counts";

  end_at_finalization(test_.recording);
  const Teardown teardown = found();
  EXPECT_EQ(teardown.kind, Teardown::Kind::kFinalization);
  EXPECT_EQ(teardown.from, 10'930U);
  const auto count = [&](Kind kind) {
    Selection selection;
    selection.kind = kind;
    return choose(test_.recording, selection).samples.size();
  };
  EXPECT_EQ(count(Kind::kLiveAtEnd), 98U);
  EXPECT_EQ(count(Kind::kAllocated), test_.recording.samples.size());
}

TEST_F(TeardownOf, OneProcessIsFoundAlone) {
  store([](std::size_t i) { return 10'950 + i; });
  test_.recording.processes.push_back(test_.recording.processes[0]);
  const std::vector<Teardown> own = find_teardowns(test_.recording, 0);
  EXPECT_EQ(own.at(0).from, found().from);
  EXPECT_EQ(own.at(1).kind, Teardown::Kind::kNotFound);
  const std::vector<Teardown> other = find_teardowns(test_.recording, 1);
  EXPECT_EQ(other.at(0).kind, Teardown::Kind::kNotFound);
}

// A quarter of the samples may name an instant long before the largest
// heap, which is the one that was tidied up. It is a lower limit of the peak, by all samples.
TEST_F(TeardownOf, ThePeakIsNotBelowWhatWasTidiedUp) {
  store([](std::size_t i) { return 10'950 + i; });
  const auto bytes_of = [&](const Selection& selection) {
    const Chosen chosen = choose(test_.recording, selection);
    double bytes = 0;
    for (const Sample* sample : chosen.samples) {
      estimation::Count count = count_of_fate(test_.recording, *sample);
      count.lambda *= chosen.rate_factor;
      bytes += static_cast<double>(count.size) / estimation::inclusion_probability(count);
    }
    return bytes;
  };
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    test_.recording.processes[0].seed = seed;
    Selection peak, before;
    peak.kind = Kind::kLiveAtPeak;
    before.kind = Kind::kLiveAtEnd;
    before.at = 10'949;
    EXPECT_GE(bytes_of(peak), bytes_of(before) * (1 - 1e-12)) << seed;
  }
}

TEST_F(TeardownOf, WhatFreesNothingHasNone) {
  store([](std::size_t) { return Nanoseconds{0}; });
  EXPECT_EQ(found().kind, Teardown::Kind::kNotFound);
  EXPECT_EQ(found().from, kEnd);
}

TEST_F(TeardownOf, AKilledProcessMayHaveOneAndARunningOneHasNone) {
  store([](std::size_t i) { return 10'950 + i; });
  for (const Ending ending : {Ending::kStillOpen, Ending::kStopped, Ending::kSwitchedOff,
                              Ending::kContinued, Ending::kKilled}) {
    test_.recording.processes[0].ending = ending;
    EXPECT_EQ(found().is_found(), ending == Ending::kKilled);
  }
}

TEST_F(TeardownOf, FewerThanHalfFreedIsNone) {
  store([](std::size_t i) { return i % 5 < 2 ? 10'950 + i : Nanoseconds{0}; });
  EXPECT_EQ(found().kind, Teardown::Kind::kNotFound);
}

TEST_F(TeardownOf, FreesAmongAllocationsAreOrdinaryWork) {
  store([](std::size_t i) { return 10'400 + i; });
  for (std::size_t i = 0; i < 98; ++i) test_.sample(store_, 100, 10'400 + i);
  EXPECT_EQ(found().kind, Teardown::Kind::kNotFound);
}

TEST_F(TeardownOf, AFewAllocationsWhileTidyingUpDoNotHideIt) {
  store([](std::size_t i) { return 10'950 + i; });
  for (const Nanoseconds at : {10'960U, 10'990U, 11'020U}) test_.sample(store_, 100, at, at + 5);
  EXPECT_TRUE(found().is_found());
  EXPECT_LE(found().from, 10'960U);
}

// The frees are 8 % of the time: too much for a burst, and the last 5 % are not one either.
TEST_F(TeardownOf, ABurstIsNotCutAtItsLongestShare) {
  test_.recording.processes[0].end = 11'800;
  store([](std::size_t i) { return 10'950 + 8 * i; });
  EXPECT_EQ(found().kind, Teardown::Kind::kSlow);
  EXPECT_EQ(found().from, 10'950U);
}

TEST_F(TeardownOf, WhatWasFreedSlowlyBeforeABurstHidesLeaks) {
  test_.recording.processes[0].end = 13'000;
  store([](std::size_t i) { return i < 40 ? 11'000 + 40 * i : 12'700 + i; });
  EXPECT_EQ(found().kind, Teardown::Kind::kSlow);
  EXPECT_EQ(found().from, 11'000U);
}

TEST_F(TeardownOf, SlowFreesAreToldApart) {
  test_.recording.processes[0].end = 15'000;
  store([](std::size_t i) { return 11'000 + 40 * i; });
  EXPECT_EQ(found().kind, Teardown::Kind::kSlow);
  EXPECT_EQ(found().from, 11'000U);
  EXPECT_FALSE(found().is_found());
}

TEST_F(TeardownOf, ScratchFreedLastIsNone) {
  EXPECT_EQ(found().kind, Teardown::Kind::kNotFound) << "younger than a hundredth of the time";
}

TEST_F(TeardownOf, FreesBelowExitSayWhereItBegan) {
  const auto exits =
      test_.stack({test_.location({"~Store"}), test_.location({"__run_exit_handlers"}),
                   test_.location({"exit"})});
  // Too little for a burst: most is still in use.
  store([](std::size_t i) { return i < 5 ? 11'000 + i : Nanoseconds{0}; });
  for (Sample& sample : test_.recording.samples) {
    if (sample.free_time >= 11'000) sample.free_stack = exits;
  }
  EXPECT_EQ(found().kind, Teardown::Kind::kExitFrees);
  EXPECT_EQ(found().from, 11'000U);
  EXPECT_LT(found().freed, found().live);
}

TEST_F(TeardownOf, EachProcessHasItsOwn) {
  store([](std::size_t i) { return 10'950 + i; });
  const auto other = test_.add_process();
  test_.recording.processes[other].end = 90'000;
  for (Nanoseconds at = 50'000; at < 80'000; at += 100) {
    Sample& sample = test_.sample(store_, 100, at, 89'000 + at / 100);
    sample.process = other;
    sample.epoch = other;
  }
  const auto teardowns = find_teardowns(test_.recording);
  ASSERT_EQ(teardowns.size(), 2U);
  EXPECT_EQ(teardowns[0].from, 10'950U);
  EXPECT_EQ(teardowns[1].from, 89'500U);
}

TEST(Teardown, OfNothingIsNone) {
  EXPECT_TRUE(find_teardowns({}).empty());
  TestRecording empty;
  EXPECT_EQ(find_teardowns(empty.recording).at(0).kind, Teardown::Kind::kNotFound);
  empty.sample(empty.stack({}), 100, 2000, 2000);
  EXPECT_EQ(find_teardowns(empty.recording).at(0).kind, Teardown::Kind::kNotFound);
}

}  // namespace
}  // namespace geiger::profile::teardown_test
