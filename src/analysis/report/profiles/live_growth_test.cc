// Growth of rows while a live view is open: against known counts, and against heaps that are
// sampled anew with fixed seeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "analysis/profile/testing/example_recording.h"
#include "analysis/report/profiles/live.h"
#include "estimation/sums.h"

namespace geiger::report {
namespace {

using profile::GroupBy;
using profile::Kind;
using profile::Recording;
using profile::example::RecordingBuilder;
using ::testing::HasSubstr;

constexpr Nanoseconds kSecond = 1'000'000'000;

/// A picture with a tally per function, below get() and main(); which samples it counts is up to
/// the test.
Recording picture_of(std::size_t functions, Bytes size, bool is_certain = false,
                     bool has_callers = false) {
  RecordingBuilder builder;
  const auto process = builder.process("/usr/bin/server", 1);
  const auto thread = builder.thread(process, "server", 1);
  const auto module = builder.module("/usr/bin/server", 0x400000);
  const auto get = builder.location(module, 1000, {"get"});
  const auto main = builder.location(module, 1001, {"main"});
  std::vector<std::uint32_t> stacks;
  for (std::size_t i = 0; i < functions; ++i) {
    const auto place = static_cast<std::uint32_t>(i + 1);
    std::vector<std::uint32_t> locations{
        builder.location(module, place, {"f" + std::to_string(i)})};
    if (has_callers) locations.insert(locations.end(), {get, main});
    stacks.push_back(builder.stack(locations));
  }
  Recording picture = builder.recording();
  for (const std::uint32_t stack : stacks) {
    profile::Sample sample;
    sample.process = process;
    sample.thread = thread;
    sample.stack = stack;
    sample.requested = sample.usable = size;
    sample.is_certain = is_certain;
    picture.tallies.push_back({.alike = sample});
  }
  return picture;
}

LiveReport report_of(Recording& picture, const LiveChange& start,
                     const std::optional<LiveChange>& recent = std::nullopt,
                     const LiveOptions& options = {}) {
  for (std::size_t i = 0; i < picture.tallies.size(); ++i) {
    picture.tallies[i].allocated = std::max<std::uint64_t>(start.came[i], 1);
  }
  return live_report(picture, {}, options, LiveChanges{start, recent});
}

TEST(LiveGrowth, IsWhatCameLessWhatWent) {
  Recording picture = picture_of(3, 1000, true);
  const LiveReport report = report_of(picture, {10 * kSecond, 10, {7, 0, 2}, {2, 4, 2}});
  EXPECT_EQ(report.growth.total().bytes, 1000);
  ASSERT_EQ(report.growths.size(), 3U);
  EXPECT_EQ(report.growth.since_start({"f0", "server"}).bytes, 5000);
  EXPECT_EQ(report.growth.since_start({"f1", "server"}).bytes, -4000);
  EXPECT_EQ(report.growth.since_start({"f2", "server"}).bytes, 0);
  EXPECT_EQ(report.growth.since_start({"f0", "server"}).length, 10 * kSecond);
  // Only rows that seem to have grown are tested.
  ASSERT_EQ(report.growth.rows().size(), 1U);
  EXPECT_EQ(report.growth.rows()[0].key.name, "f0");
}

TEST(LiveGrowth, OfWhatIsAtBothInstantsIsCertain) {
  Recording picture = picture_of(2, 1000);
  picture.tallies[0].allocated = 1'000'000;
  const GrowthReport none(picture, profile::select(picture, Kind::kLiveAtEnd), {},
                          GroupBy::kFunction, 0.95, {kSecond, 1, {0, 0}, {0, 0}}, std::nullopt);
  const LiveGrowth growth = none.since_start({"f0", "server"});
  EXPECT_EQ(growth.bytes, 0);
  // Either way what left no sample: no part of it is of the million samples that stayed.
  const double limit = estimation::detection_limit(512 * kKiB, 0.95);
  EXPECT_NEAR(growth.interval.hi, limit, limit * 1e-5);
  EXPECT_NEAR(growth.interval.lo, -limit, limit * 1e-5);
}

TEST(LiveGrowth, NamesWhatGrows) {
  Recording picture = picture_of(2, 64 * kKiB);
  const LiveReport report = report_of(picture, {10 * kSecond, 10, {60, 1}, {0, 1}});
  EXPECT_EQ(report.growth.growing(), 1U);
  EXPECT_THAT(sentence(report.growth), HasSubstr("f0 (main.cc:1) grows 3.19 MiB/s"));
  EXPECT_THAT(sentence(report.growth), HasSubstr("over 10.0 s"));
  EXPECT_THAT(rate_figure(report.growth.rows()[0].since_start).text(), HasSubstr("+3.19 MiB/s"));
}

// Ten stacks below get() gain 6 samples each, which no row could prove in ten looks; those of
// dispatch(), which calls it, come and go.
TEST(LiveGrowth, NamesTheOwnerOfStacksThatGrowTogether) {
  RecordingBuilder builder;
  const auto process = builder.process("/usr/bin/server", 1);
  const auto thread = builder.thread(process, "server", 1);
  const auto module = builder.module("/usr/bin/server", 0x400000);
  auto function = [&, next = Address{0}](const std::string& name) mutable {
    return builder.location(module, ++next, {name});
  };
  const auto main = function("main"), dispatch = function("dispatch"), get = function("get");
  std::vector<std::uint32_t> stacks;
  for (int i = 0; i < 30; ++i) {
    std::vector<std::uint32_t> locations{function("f" + std::to_string(i))};
    if (i < 10) locations.push_back(get);
    locations.push_back(dispatch);
    locations.push_back(main);
    stacks.push_back(builder.stack(locations));
  }
  Recording picture = builder.recording();
  LiveChange start{10 * kSecond, 10, {}, {}};
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    profile::Sample sample;
    sample.process = process;
    sample.thread = thread;
    sample.stack = stacks[i];
    sample.requested = sample.usable = 64 * kKiB;
    picture.tallies.push_back({.alike = sample});
    start.came.push_back(i < 10 ? 6 : 20);
    start.went.push_back(i < 10 ? 0 : 20);
  }
  const GrowthReport growth = report_of(picture, start).growth;
  EXPECT_EQ(growth.growing(), 0U);
  ASSERT_TRUE(growth.owner());
  EXPECT_EQ(growth.owner()->all.key.name, "get");
  EXPECT_THAT(sentence(growth),
              testing::MatchesRegex("get \\(main.cc:3\\) grows .*/s .* over 10.0 s, in .* sites"));
  EXPECT_THAT(sentence(growth), HasSubstr("grows 3.19 MiB/s"));
}

TEST(LiveGrowth, BesideUnseenFreesHasNoLowerLimit) {
  Recording picture = picture_of(2, 64 * kKiB);
  picture.processes[0].is_attached = true;
  const LiveReport report = report_of(picture, {10 * kSecond, 10, {60, 1}, {0, 1}});
  EXPECT_EQ(report.growth.growing(), 0U);
  EXPECT_FALSE(report.growth.rows()[0].since_start.is_above_zero());
  EXPECT_THAT(rate_figure(report.growth.rows()[0].since_start).text(), HasSubstr("< 4."));
  EXPECT_THAT(sentence(report.growth), HasSubstr("growth not known"));
}

TEST(LiveGrowth, OfATypeMayBeThatOfObjectsWithoutOne) {
  Recording picture = picture_of(2, 64 * kKiB);
  picture.types = {{"Order"}};
  picture.tallies[0].alike.type = 0;
  LiveOptions by_type;
  by_type.table.by = GroupBy::kType;
  const auto growth_of = [&](std::uint64_t unknown_freed) {
    return report_of(picture, {10 * kSecond, 10, {60, 0}, {0, unknown_freed}}, {}, by_type).growth;
  };
  EXPECT_EQ(growth_of(0).growing(), 1U);
  EXPECT_EQ(growth_of(60).growing(), 0U) << "as many may have been freed";
  EXPECT_EQ(growth_of(60).since_start({"Order", ""}).bytes,
            growth_of(0).since_start({"Order", ""}).bytes);
}

TEST(LiveGrowth, OfFewSamplesIsNotShown) {
  Recording picture = picture_of(2, 64 * kKiB);
  const LiveReport report = report_of(picture, {10 * kSecond, 10, {4, 1}, {1, 0}});
  EXPECT_EQ(report.growth.growing(), 0U);
  EXPECT_EQ(sentence(report.growth), "no growth shown over 10.0 s");
}

TEST(LiveGrowth, ThatEndedIsNotCalledPresent) {
  Recording picture = picture_of(1, 64 * kKiB);
  const LiveReport report =
      report_of(picture, {100 * kSecond, 100, {200}, {0}}, LiveChange{30 * kSecond, 30, {2}, {2}});
  EXPECT_THAT(sentence(report.growth), HasSubstr("f0 (main.cc:1) grew 106 MiB"));
  EXPECT_THAT(sentence(report.growth), HasSubstr("the last 30.0 s do not show it"));
}

TEST(LiveGrowth, SortsRows) {
  Recording picture = picture_of(3, 64 * kKiB);
  LiveOptions options;
  options.sorts_by_growth = true;
  options.table.top = 2;
  const LiveReport report = report_of(picture, {kSecond, 1, {5, 50, 20}, {40, 0, 0}}, {}, options);
  ASSERT_EQ(report.table.lines.size(), 2U);
  EXPECT_EQ(report.table.lines[0].name, "f1");
  EXPECT_EQ(report.table.lines[1].name, "f2");
  EXPECT_EQ(report.growths.size(), 2U);
  EXPECT_EQ(report.table.rows, 3U);
}

TEST(LiveGrowth, IsOfTheSamplesSelected) {
  Recording picture = picture_of(2, 1000, true);
  LiveOptions options;
  options.keeps = [stack = picture.tallies[1].alike.stack](const profile::Sample& sample) {
    return sample.stack == stack;
  };
  const LiveReport report = report_of(picture, {kSecond, 1, {5, 7}, {0, 0}}, {}, options);
  EXPECT_EQ(report.growth.total().bytes, 7000);
  EXPECT_EQ(report.growth.rows().size(), 1U);
}

TEST(LiveGrowth, IsInTheDocument) {
  Recording picture = picture_of(2, 64 * kKiB);
  const LiveReport report = report_of(picture, {10 * kSecond, 10, {60, 1}, {0, 1}},
                                      LiveChange{5 * kSecond, 5, {30, 1}, {0, 1}});
  const auto growth = nlohmann::json::parse(to_json(report, picture))["growth"];
  EXPECT_EQ(growth["length_ns"], 10 * kSecond);
  EXPECT_EQ(growth["recent_length_ns"], 5 * kSecond);
  EXPECT_EQ(growth["growing"], 1);
  EXPECT_EQ(growth["rows"][0]["name"], "f0");
  EXPECT_TRUE(growth["rows"][0]["is_growing"]);
  EXPECT_NEAR(growth["rows"][0]["since_start"]["per_second"]["value"].get<double>() * 10,
              growth["rows"][0]["since_start"]["bytes"].get<double>(), 1e-3);
  EXPECT_LT(growth["rows"][0]["recent"]["lo"], growth["rows"][0]["recent"]["bytes"]);
}

/// A row's objects, replaced by chance; each is a sample or not from its birth on.
class Heap {
 public:
  Heap(std::size_t objects, double inclusion) : inclusion_(inclusion), objects_(objects) {}

  void fill(std::mt19937_64& random) {
    for (Object& object : objects_) object = {.is_sample = draws(random), .is_new = false};
    for (const Object& object : objects_) at_start_ += object.is_sample;
  }
  void replace(std::size_t count, std::mt19937_64& random) {
    for (std::size_t i = 0; i < count; ++i) objects_[random() % objects_.size()] = born(random);
  }
  void grow(std::size_t count, std::mt19937_64& random) {
    for (std::size_t i = 0; i < count; ++i) objects_.push_back(born(random));
  }
  [[nodiscard]] std::uint64_t came() const { return samples(true); }
  [[nodiscard]] std::uint64_t went() const { return at_start_ - samples(false); }

 private:
  struct Object {
    bool is_sample = false, is_new = false;
  };
  [[nodiscard]] bool draws(std::mt19937_64& random) const {
    return static_cast<double>(random() >> 11) * 0x1p-53 < inclusion_;
  }
  [[nodiscard]] Object born(std::mt19937_64& random) const {
    return {.is_sample = draws(random), .is_new = true};
  }
  [[nodiscard]] std::uint64_t samples(bool is_new) const {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        objects_, [&](const Object& one) { return one.is_sample && one.is_new == is_new; }));
  }

  double inclusion_;
  std::vector<Object> objects_;
  std::uint64_t at_start_ = 0;
};

/// What became of watching heaps of 16 samples a row, a twentieth of which is replaced from one
/// look to the next.
struct Watched {
  int called_growing = 0;  ///< Watchings in which a row was, at any look.
  int owned = 0;           ///< Watchings in which a function that calls all was.
  int above_zero = 0;      ///< Rows whose interval was, at the last look.
  int first_called = 0;    ///< Watchings in which the first row was, at the last look.
};

Watched watch(int watchings, std::size_t grown_per_look) {
  constexpr std::size_t kRows = 5, kObjects = 2048, kLooks = 40;
  constexpr Bytes kSize = 4 * kKiB;
  Recording picture = picture_of(kRows, kSize, false, true);
  const double inclusion = estimation::inclusion_probability(kSize, picture.epochs.front().lambda);
  const profile::Profile live = profile::select(picture, Kind::kLiveAtEnd);
  Watched watched;
  for (int seed = 1; seed <= watchings; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    std::vector<Heap> heaps(kRows, Heap(kObjects, inclusion));
    for (Heap& heap : heaps) heap.fill(random);
    bool is_any = false, is_any_owned = false;
    for (std::size_t look = 1; look <= kLooks; ++look) {
      LiveChange change{look * kSecond, look, {}, {}};
      for (Heap& heap : heaps) {
        heap.replace(kObjects / 20, random);
        if (&heap == &heaps.front()) heap.grow(grown_per_look, random);
        change.came.push_back(heap.came());
        change.went.push_back(heap.went());
      }
      const GrowthReport growth(picture, live, {}, GroupBy::kFunction, 0.95, change, std::nullopt);
      is_any |= growth.growing() > 0;
      is_any_owned |= growth.owner().has_value();
      if (look < kLooks) continue;
      for (const GrowthRow& row : growth.rows()) {
        watched.above_zero += row.since_start.is_above_zero();
        watched.first_called += row.is_growing && row.key.name == "f0";
      }
    }
    watched.called_growing += is_any;
    watched.owned += is_any_owned;
  }
  return watched;
}

TEST(LiveGrowthOfSampledHeaps, IsSeldomSaidOfWhatDoesNotGrow) {
  const Watched watched = watch(200, 0);
  // At most 2.5 % of the watchings: of 200 more than 15 with a probability of 1e-4.
  EXPECT_LE(watched.called_growing, 15);
  EXPECT_LE(watched.owned, 15);
  // Each interval for itself: 2.5 % of 1000, more than 45 with a probability of 1e-4.
  EXPECT_LE(watched.above_zero, 45);
  EXPECT_GT(watched.above_zero, 0) << "these have chance to deceive them";
}

TEST(LiveGrowthOfSampledHeaps, IsSaidOfWhatGrows) {
  // 240 objects of 4 KiB a look come to 75 samples in all, where nothing else grows.
  const Watched watched = watch(100, 240);
  EXPECT_GE(watched.first_called, 99);
}

}  // namespace
}  // namespace geiger::report
