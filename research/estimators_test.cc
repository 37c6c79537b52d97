#include "research/estimators.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/profile/testing/example_recording.h"

namespace geiger::research {
namespace {

using profile::Recording;
using profile::example::RecordingBuilder;
using profile::example::small_server;
using ::testing::HasSubstr;
using ::testing::Not;

const EstimatorLine& line_of(const std::vector<EstimatorLine>& lines, std::string_view key) {
  for (const EstimatorLine& line : lines) {
    if (line.key == key) return line;
  }
  throw std::out_of_range(std::string(key));
}

/// Objects of 16 bytes to almost T, drawn at every place in them.
Recording mixed() {
  RecordingBuilder builder(4096);
  const auto thread = builder.thread(builder.process("/bin/mixed", 7), "", 7);
  const auto module = builder.module("/bin/mixed", 0x1000);
  const auto small = builder.stack({builder.location(module, 1, {"small"})});
  const auto both = builder.stack({builder.location(module, 2, {"both"})});
  for (int i = 0; i < 200; ++i) builder.sample(thread, small, 16, 1);
  for (int i = 0; i < 300; ++i) builder.sample(thread, both, i % 2 == 0 ? 64 : 4000, 1);
  builder.sample(thread, both, 10000, 1);
  Recording& recording = builder.recording();
  for (std::size_t i = 0; i < recording.samples.size(); ++i) {
    recording.samples[i].offset = i * 37 % recording.samples[i].requested;
  }
  recording.threads[0].bytes = 2300000;
  return recording;
}

TEST(Estimators, StandSideBySide) {
  const EstimatorsReport report = estimators_report(mixed(), 0.95);
  const EstimatorTable& whole = report.whole;
  ASSERT_EQ(whole.samples, 500U);
  ASSERT_EQ(whole.certain_samples, 1U);
  ASSERT_TRUE(report.exact);
  const double ours = line_of(whole.bytes, "horvitz_thompson").value;
  for (const char* key : {"failed_trials", "draw_counting"}) {
    const EstimatorLine& other = line_of(whole.bytes, key);
    EXPECT_NEAR(other.value, ours, 3 * std::sqrt(*other.variance)) << key;
    EXPECT_GT(*other.variance, *line_of(whole.bytes, "horvitz_thompson").variance) << key;
    EXPECT_LE(other.interval->lo, other.value);
    EXPECT_GE(other.interval->hi, other.value);
    EXPECT_NEAR(*other.error, other.value / 2300000 - 1, 1e-12);
  }
  for (const char* key : {"rounded_weight", "average_size", "naive"}) {
    EXPECT_FALSE(line_of(whole.bytes, key).variance) << key;
    EXPECT_FALSE(line_of(whole.bytes, key).interval) << key;
    EXPECT_FALSE(line_of(whole.objects, key).interval) << key;
  }
  // 10,000 certain bytes and 500 T.
  EXPECT_EQ(line_of(whole.bytes, "naive").value, 10000 + 500 * 4096);
  EXPECT_FALSE(line_of(whole.bytes, "unskewed_usable").error) << "counted bytes are requested ones";
  EXPECT_GT(line_of(whole.bytes, "unskewed_usable").value, 0.98 * ours);
  EXPECT_LT(line_of(whole.objects, "average_size").value,
            0.9 * line_of(whole.objects, "horvitz_thompson").value);
}

TEST(Estimators, SitesAreTheLargestStacks) {
  const EstimatorsReport report = estimators_report(mixed(), 0.95);
  ASSERT_EQ(report.sites.size(), 2U);
  EXPECT_EQ(report.sites[0].name, "both");
  EXPECT_EQ(report.sites[0].samples, 300U);
  EXPECT_EQ(report.sites[1].samples, 200U);
  EXPECT_FALSE(report.sites[0].bytes[0].error) << "the exact total is that of the run";
  double sum = 0;
  for (const EstimatorTable& site : report.sites) {
    sum += line_of(site.bytes, "failed_trials").value;
  }
  EXPECT_NEAR(sum, line_of(report.whole.bytes, "failed_trials").value, 1e-6);
  EXPECT_NEAR(report.sites[1].average_size->value, 16, 1e-9);
}

TEST(Estimators, IntervalsAreComparedWithTheExactTotal) {
  const EstimatorsReport report = estimators_report(mixed(), 0.95);
  ASSERT_EQ(report.intervals.size(), 5U);
  for (const IntervalLine& line : report.intervals) {
    ASSERT_TRUE(line.interval) << line.key;
    EXPECT_LT(line.interval->lo, line.interval->hi) << line.key;
    EXPECT_EQ(*line.holds, line.interval->lo <= 2.3e6 && 2.3e6 <= line.interval->hi) << line.key;
  }
  EXPECT_GT(report.intervals[2].interval->hi, report.intervals[1].interval->hi);
}

// Trials of two intervals have no negative binomial law; the others need none.
TEST(Estimators, SeveralIntervalsLeaveSomeWithoutAnswer) {
  Recording recording = mixed();
  recording.epochs.push_back({8192, -std::log1p(-1.0 / 8192)});
  recording.samples[0].epoch = 1;
  const EstimatorsReport report = estimators_report(recording, 0.95);
  EXPECT_TRUE(report.intervals[0].interval);
  EXPECT_FALSE(report.intervals[1].interval);
  EXPECT_FALSE(report.intervals[3].interval);
  EXPECT_TRUE(report.intervals[4].interval);
  EXPECT_THAT(to_text(report, {}), HasSubstr("no interval"));
}

TEST(Estimators, CountObjectsOfOneSizeByExactLimits) {
  const EstimatorsReport report = estimators_report(mixed(), 0.95);
  ASSERT_EQ(report.sizes.size(), 3U);
  EXPECT_EQ(report.sizes[0].size, 16U);
  EXPECT_EQ(report.sizes[0].objects.samples, 200U);
  EXPECT_EQ(report.sizes[1].size, 64U);
  EXPECT_EQ(report.sizes[2].size, 4000U);
  EXPECT_EQ(report.sizes[2].interval, 4096U);
  for (const SizeLine& line : report.sizes) {
    EXPECT_LT(line.objects.interval.lo, line.objects.value);
    EXPECT_GT(line.objects.interval.hi, line.objects.value);
  }
  // 150 of some 240: most large objects are samples.
  EXPECT_NEAR(report.sizes[2].objects.interval.hi / report.sizes[2].objects.value, 1.11, 0.02);
  EXPECT_THAT(to_text(report, {}), HasSubstr("Objects of one size, by exact limits"));
}

TEST(Estimators, ReadAsTables) {
  const std::string text = to_text(estimators_report(mixed(), 0.95), {});
  EXPECT_THAT(text, HasSubstr("501 samples, 1 of them certain"));
  EXPECT_THAT(text, HasSubstr("2.19 MiB exactly; 95 % intervals"));
  EXPECT_THAT(text, HasSubstr("none: biased"));
  EXPECT_THAT(text, HasSubstr("average size"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr("…"))) << "every reason is whole at the default width";
}

// Nothing sampled: the detection limit, by every interval that knows one.
TEST(Estimators, NoSampleHasItsBound) {
  RecordingBuilder builder(4096);
  builder.thread(builder.process("/bin/a", 1), "", 1);
  builder.recording().threads[0].bytes = 100;
  const EstimatorsReport report = estimators_report(builder.recording(), 0.95);
  EXPECT_NEAR(report.intervals[0].interval->hi, 4096 * std::log(40), 1e-6);
  EXPECT_FALSE(report.intervals[1].interval);
  EXPECT_NEAR(report.intervals[2].interval->hi, 4096 * std::log(40), 3);
  EXPECT_THAT(to_text(report, {}), HasSubstr("failed trials s q/p + u  < 14.8 KiB"));
}

TEST(Estimators, OfNothingAndOfDamage) {
  for (const Recording& recording : {Recording(), small_server()}) {
    const std::string text = to_text(estimators_report(recording, 0.95), {});
    EXPECT_THAT(text, Not(HasSubstr("nan")));
    EXPECT_THAT(text, Not(HasSubstr("inf")));
  }
  Recording damaged = mixed();
  damaged.samples[3].offset = 1 << 20;
  const EstimatorsReport report = estimators_report(damaged, 0.95);
  EXPECT_EQ(report.impossible, 1U);
  EXPECT_THAT(to_text(report, {}), HasSubstr("1 sample left out"));
}

// T = 1 and certain objects only: every unbiased design agrees, without error.
TEST(Estimators, CertainObjectsAreTheSameToAll) {
  RecordingBuilder builder(1);
  const auto thread = builder.thread(builder.process("/bin/a", 1), "", 1);
  for (int i = 0; i < 5; ++i) builder.sample(thread, builder.stack({}), 100, 1);
  builder.recording().threads[0].bytes = 500;
  const EstimatorsReport report = estimators_report(builder.recording(), 0.95);
  for (const EstimatorLine& line : report.whole.bytes) {
    if (line.key != "unskewed_usable") {
      EXPECT_EQ(line.value, 500) << line.key;
    }
  }
  EXPECT_THAT(to_text(report, {}), Not(HasSubstr("no interval\n")));
}

TEST(Estimators, JsonSaysWhatIsBiased) {
  const auto json = nlohmann::json::parse(to_json(estimators_report(mixed(), 0.9)));
  EXPECT_EQ(json["report"], "estimators");
  EXPECT_EQ(json["level"], 0.9);
  EXPECT_EQ(json["exact_bytes"], 2300000);
  EXPECT_EQ(json["whole"]["bytes"].size(), 7U);
  for (const auto& line : json["whole"]["bytes"]) {
    EXPECT_EQ(line["is_biased"].get<bool>(), !line.contains("variance"));
    EXPECT_EQ(line.contains("lo"), line.contains("interval"));
  }
  EXPECT_EQ(json["intervals"][0]["interval"], "ff_sg");
  EXPECT_TRUE(json["intervals"][0].contains("holds_exact"));
  EXPECT_EQ(json["sizes"][0]["objects"]["samples"], 200);
  EXPECT_EQ(json["sites"].size(), 2U);
  EXPECT_TRUE(json["sites"][0]["average_size"].contains("lo"));
}

}  // namespace
}  // namespace geiger::research
