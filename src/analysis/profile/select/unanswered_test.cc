// Intervals of resident bytes where answers are missing, against populations whose pages are
// known: 2,000 recordings drawn of each, some answers dropped, by chance and by spite.
//
// The share of 95 % intervals that cover is at least 95 % minus 4 standard errors of 2,000
// (false alarm below 4e-5 per share); the seeds are fixed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analysis/profile/select/profile.h"
#include "analysis/profile/testing/test_recording.h"
#include "estimation/estimate.h"

namespace geiger::profile::unanswered_test {
namespace {

constexpr int kRecordings = 2000;
constexpr std::size_t kObjects = 400;

struct Object {
  Bytes size, resident;
};

/// Which answers do not come.
enum class Missing : std::uint8_t { kAtRandom, kLargest, kResident, kUntouched, kAll };

std::vector<Object> population() {
  std::mt19937_64 random(5);
  std::vector<Object> objects;
  for (std::size_t i = 0; i < kObjects; ++i) {
    const Bytes size = Bytes{16} << random() % 9;
    objects.push_back({size, random() % 3 == 0 ? 0 : 1 + random() % size});
  }
  // The program was queried: one answer came; others are missing.
  objects.push_back({kMiB, 4096});
  return objects;
}

bool is_missing(const Object& object, Missing missing, std::mt19937_64& random) {
  if (object.size == kMiB) return false;
  switch (missing) {
    case Missing::kAtRandom:
      return random() % 3 == 0;
    case Missing::kLargest:
      return object.size >= 1024;
    case Missing::kResident:
      return object.resident > object.size / 2;
    case Missing::kUntouched:
      return object.resident == 0;
    case Missing::kAll:
      break;
  }
  return object.size > 16;
}

Recording drawn(const std::vector<Object>& objects, Bytes interval, Missing missing,
                std::mt19937_64& random) {
  TestRecording test(interval);
  const double lambda = estimation::rate_of_interval(static_cast<double>(interval));
  for (const Object& object : objects) {
    const bool gets_no_answer = is_missing(object, missing, random);
    const bool is_sampled =
        object.size >= interval || std::uniform_real_distribution<>()(random) <
                                       estimation::inclusion_probability(object.size, lambda);
    if (!is_sampled) continue;
    const auto index = static_cast<std::uint32_t>(test.recording.samples.size());
    test.sample(kNone, object.size).is_certain = object.size >= interval;
    if (!gets_no_answer) test.recording.residency_answers.push_back({index, 3000, object.resident});
  }
  return std::move(test.recording);
}

/// Shares of intervals that cover.
struct Coverage {
  double ours = 0;
  double of_answered = 0;  ///< If the samples without an answer were not resident at all.
};

Coverage coverage(Bytes interval, Missing missing) {
  const std::vector<Object> objects = population();
  double truth = 0;
  for (const Object& object : objects) truth += static_cast<double>(object.resident);
  std::mt19937_64 random(interval + static_cast<std::uint64_t>(missing));
  const auto covers = [truth](const estimation::NodeSums& sums) {
    const auto bounds = estimation::estimate_bytes(sums, 0.95).interval;
    return bounds.lo <= truth && truth <= bounds.hi ? 1.0 / kRecordings : 0.0;
  };
  Coverage found;
  for (int i = 0; i < kRecordings; ++i) {
    const Recording recording = drawn(objects, interval, missing, random);
    Profile profile = select(recording, Kind::kResident);
    found.ours += covers(total(recording, profile));
    profile.open.clear();
    found.of_answered += covers(total(recording, profile));
  }
  return found;
}

class Unanswered : public ::testing::TestWithParam<Missing> {};

TEST_P(Unanswered, IntervalsCoverWhateverIsMissing) {
  const double least = 0.95 - 4 * std::sqrt(0.95 * 0.05 / kRecordings);
  for (const Bytes interval : {1U, 512U, 8192U}) {
    const Coverage found = coverage(interval, GetParam());
    EXPECT_GE(found.ours, interval == 1 ? 1 - 1e-9 : least) << interval;
    RecordProperty("interval_" + std::to_string(interval), std::to_string(found.ours));
    // What was left out and mattered made intervals that missed.
    const bool mattered = GetParam() != Missing::kUntouched && interval < 8192;
    EXPECT_TRUE(!mattered || found.of_answered < 0.5) << interval << ": " << found.of_answered;
  }
}

INSTANTIATE_TEST_SUITE_P(Missing, Unanswered,
                         ::testing::Values(Missing::kAtRandom, Missing::kLargest,
                                           Missing::kResident, Missing::kUntouched, Missing::kAll));

}  // namespace
}  // namespace geiger::profile::unanswered_test
