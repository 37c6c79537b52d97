// Means over instants. Seeds are fixed. A share of 4000 repetitions has a standard error of at most
// .0079, at .95 of .0034; limits leave 4.5 of them, so that for a fresh seed a test that keeps its
// level fails with a probability below 1e-4 over all that is compared here.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "analysis/profile/groups/view.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/testing/test_recording.h"
#include "estimation/estimate.h"

namespace geiger::profile::averages_test {
namespace {

using estimation::NodeSums;

constexpr Bytes kInterval = 4096;
constexpr int kInstants = 48;
constexpr int kRepetitions = 4000;

/// Objects of one size that live for this many instants each; equally many begin at any of them.
struct Lives {
  Bytes size;
  int instants;
  int objects;  ///< Over all instants.
};

struct Program {
  const char* name;
  std::vector<Lives> lives;
};

/// What one draw of the sampler leaves: a mean over the instants, as a store of counts makes it.
class Drawn {
 public:
  Drawn() : stack_(test_.stack({test_.location({"site"})})) {
    profile_.kind = Kind::kLiveAtEnd;
    profile_.largest_interval = 1 / test_.recording.epochs[0].lambda;
    profile_.averaged_over = kInstants;
  }

  void draw(const Program& program, std::mt19937_64& generator) {
    profile_.entries.clear();
    for (const Lives& lives : program.lives) {
      const double pi =
          estimation::inclusion_probability(lives.size, test_.recording.epochs[0].lambda);
      const auto sampled = std::binomial_distribution<int>(lives.objects, pi)(generator);
      if (sampled == 0) continue;
      profile_.entries.push_back(
          {.stack = stack_,
           .requested = lives.size,
           .usable = lives.size,
           .count = static_cast<std::uint64_t>(sampled) * static_cast<unsigned>(lives.instants)});
    }
  }

  [[nodiscard]] NodeSums sums() const { return total(test_.recording, profile_); }
  /// As if the instants were this many recordings: variances are added and divided by their square.
  [[nodiscard]] NodeSums sums_of_independent_instants() const {
    NodeSums sums = this->sums();
    sums.bytes_variance /= kInstants;
    return sums;
  }
  [[nodiscard]] const Recording& recording() const { return test_.recording; }
  [[nodiscard]] const Profile& profile() const { return profile_; }

 private:
  TestRecording test_{kInterval};
  std::uint32_t stack_;
  Profile profile_;
};

double mean_live(const Program& program) {
  double bytes = 0;
  for (const Lives& lives : program.lives) {
    bytes += static_cast<double>(lives.size) * lives.instants * lives.objects;
  }
  return bytes / kInstants;
}

struct Coverage {
  double mean = 0, independent = 0;
};

Coverage coverage_of(const Program& program) {
  std::mt19937_64 generator(11);
  Drawn drawn;
  const double truth = mean_live(program);
  const auto covers = [truth](const NodeSums& sums) {
    const estimation::Interval interval = estimate_bytes(sums, 0.95).interval;
    return interval.lo <= truth && truth <= interval.hi ? 1.0 : 0.0;
  };
  Coverage coverage;
  for (int i = 0; i < kRepetitions; ++i) {
    drawn.draw(program, generator);
    coverage.mean += covers(drawn.sums()) / kRepetitions;
    coverage.independent += covers(drawn.sums_of_independent_instants()) / kRepetitions;
  }
  return coverage;
}

const std::vector<Program> kPrograms{
    {"one sample, lives throughout", {{64, kInstants, 64}}},
    {"ten samples, live throughout", {{64, kInstants, 640}}},
    {"a hundred samples, live throughout", {{64, kInstants, 6400}}},
    {"large objects, live throughout", {{6000, kInstants, 12}}},
    {"come and go, one instant each", {{64, 1, 64 * kInstants}}},
    {"come and go, six instants each", {{64, 6, 640}}},
    {"a few that stay and many that go", {{512, kInstants, 40}, {64, 1, 6400}, {96, 12, 600}}},
};

TEST(Averages, CoverTheMeanLiveBytes) {
  for (const Program& program : kPrograms) {
    const Coverage coverage = coverage_of(program);
    RecordProperty(program.name, std::to_string(coverage.mean));
    EXPECT_GE(coverage.mean, 0.95 - 4.5 * 0.0034) << program.name;
  }
}

// What is live throughout is one draw, however often it is looked at.
TEST(Averages, AreNotThoseOfIndependentInstants) {
  for (const Program& program : kPrograms) {
    const bool is_one_draw = program.lives.size() == 1 && program.lives[0].instants == kInstants;
    if (!is_one_draw) continue;
    EXPECT_LE(coverage_of(program).independent, 0.9) << program.name;
  }
}

TEST(Averages, DivideWhatAddsUpAndNothingElse) {
  Drawn drawn;
  std::mt19937_64 generator(3);
  drawn.draw(kPrograms.back(), generator);
  Profile sum = drawn.profile();
  sum.averaged_over = 1;
  const NodeSums all = total(drawn.recording(), sum);
  const NodeSums mean = drawn.sums();
  EXPECT_DOUBLE_EQ(mean.weighted_bytes, all.weighted_bytes / kInstants);
  EXPECT_DOUBLE_EQ(mean.bytes_seen, all.bytes_seen / kInstants);
  EXPECT_DOUBLE_EQ(mean.bytes_variance, all.bytes_variance / kInstants);
  EXPECT_DOUBLE_EQ(mean.objects, all.objects / kInstants);
  EXPECT_DOUBLE_EQ(mean.objects_variance, all.objects_variance / kInstants);
  EXPECT_EQ(mean.samples, (all.samples + kInstants - 1) / kInstants);
  EXPECT_EQ(mean.largest_interval, all.largest_interval);
  EXPECT_EQ(mean.smallest_interval, all.smallest_interval);
  EXPECT_EQ(mean.largest_weight, all.largest_weight);
  EXPECT_EQ(mean.largest_object_weight, all.largest_object_weight);
}

// Groups, entries one by one and the whole say the same.
TEST(Averages, AreTheSameByAllWaysOfAdding) {
  TestRecording test(kInterval);
  const auto stack = test.stack({test.location({"site"})});
  Profile profile;
  profile.averaged_over = 600;
  profile.largest_interval = kInterval;
  profile.entries = {{.stack = stack, .requested = 100, .count = 1200},
                     {.stack = stack, .requested = 8192, .count = 60, .is_certain = true}};
  profile.open = {{.stack = stack, .requested = 100, .count = 300}};
  const NodeSums whole = total(test.recording, profile);
  const NodeSums group = table(test.recording, profile, GroupBy::kStack).front().self;
  NodeSums added;
  for (const Entry& entry : profile.entries) accumulate(added, entry, test.recording, profile);
  EXPECT_DOUBLE_EQ(whole.certain_bytes, 8192 * 60 / 600.0);
  EXPECT_EQ(whole.certain_samples, 1U);
  EXPECT_EQ(whole.samples, 2U);
  EXPECT_EQ(whole.open.samples, 1U);
  EXPECT_NEAR(whole.open.weighted_bytes, kInterval / 2.0, 30);
  EXPECT_TRUE(whole == group);
  EXPECT_DOUBLE_EQ(added.weighted_bytes, whole.weighted_bytes);
  EXPECT_DOUBLE_EQ(added.certain_bytes, whole.certain_bytes);
  EXPECT_DOUBLE_EQ(added.bytes_variance, whole.bytes_variance);
}

}  // namespace
}  // namespace geiger::profile::averages_test
