#include "analysis/report/overview/rss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/units.h"

namespace geiger::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

RssReport half_explained(Bytes resident, Bytes high_water) {
  RssReport report;
  report.resident = resident;
  report.high_water = high_water;
  report.after = 40'000'000;
  report.rows.push_back({RssPart::kLiveHeap, {}, {0.5, {0.5, 0.5}}});
  return report;
}

TEST(ExplainedLine, SaysWhatTheLargestReadingMissed) {
  EXPECT_EQ(explained_line(half_explained(90 * kMiB, 100 * kMiB)),
            "the heap is 50 % of resident memory at its largest detailed reading, 90 MiB");
  EXPECT_EQ(
      explained_line(half_explained(90 * kMiB - 1, 100 * kMiB)),
      "memory was not read near its resident peak of 100 MiB: the largest reading, 40 ms after "
      "the start, was 90.00 MiB");
  RssReport last = half_explained(90 * kMiB, 200 * kMiB);
  last.options.moment = profile::Moment::kLast;
  EXPECT_EQ(explained_line(last),
            "the heap is 50 % of resident memory at its last reading, 90 MiB");
  EXPECT_EQ(explained_line({}), "");
}

/// One object of 100 MiB, certain, resident as far as said, in a process with 1 MiB of code.
struct Read {
  Bytes object = 100 * kMiB, heap = 0, anonymous = 0;
  bool is_attached = false;
};

profile::Recording recording_of(const Read& read) {
  profile::Recording recording;
  recording.processes.resize(1);
  recording.processes[0].interval = kMiB;
  recording.processes[0].is_attached = read.is_attached;
  recording.processes[0].end = 200;
  recording.epochs.push_back({kMiB, 1.0 / static_cast<double>(kMiB)});
  profile::Sample sample;
  sample.time = 1;
  sample.requested = sample.usable = 100 * kMiB;
  sample.is_certain = true;
  recording.samples.push_back(sample);
  profile::Snapshot snapshot;
  snapshot.time = 100;
  snapshot.residency.push_back({0, read.object, 0});
  const auto of = [&](profile::MapKind kind) -> Bytes& {
    return snapshot.maps[static_cast<std::size_t>(kind)].resident;
  };
  of(profile::MapKind::kMallocHeap) = read.heap;
  of(profile::MapKind::kAnonymous) = read.anonymous;
  of(profile::MapKind::kFile) = kMiB;
  profile::Observations observations;
  observations.at_maximum = snapshot;
  recording.observations.push_back(observations);
  return recording;
}

RssReport report_of(const Read& read) {
  auto report = rss_report(recording_of(read), {});
  EXPECT_TRUE(report.has_value());
  return std::move(report.value());
}

double sum_of(const RssReport& report) {
  double sum = 0;
  for (const RssRow& row : report.rows) sum += row.bytes.value;
  return sum;
}

double value_of(const RssReport& report, RssPart part) {
  const auto row = std::ranges::find(report.rows, part, &RssRow::part);
  return row == report.rows.end() ? -1 : row->bytes.value / static_cast<double>(kMiB);
}

std::string text_of_report(const Read& read) {
  return to_text(report_of(read), recording_of(read), {.width = 200});
}

TEST(RssRows, KeepLiveBytesBeyondTheHeapsMappings) {
  const Read read{.heap = 40 * kMiB, .anonymous = 70 * kMiB};
  const RssReport report = report_of(read);
  EXPECT_DOUBLE_EQ(value_of(report, RssPart::kLiveHeap), 100);
  EXPECT_DOUBLE_EQ(value_of(report, RssPart::kAllocator), 0);
  EXPECT_DOUBLE_EQ(value_of(report, RssPart::kAnonymous), 10);
  EXPECT_DOUBLE_EQ(sum_of(report), static_cast<double>(report.resident));
  EXPECT_THAT(text_of_report(read), HasSubstr("At least 60 MiB of live objects lie outside"));
}

TEST(RssRows, ReportAContradiction) {
  const Read read{.heap = 40 * kMiB, .anonymous = 50 * kMiB};
  const RssReport report = report_of(read);
  EXPECT_DOUBLE_EQ(value_of(report, RssPart::kLiveHeap), 100);
  EXPECT_DOUBLE_EQ(report.excess, 10.0 * static_cast<double>(kMiB));
  EXPECT_FALSE(report.has_shares());
  EXPECT_THAT(text_of_report(read), HasSubstr("at least 10 MiB more than"));
  EXPECT_THAT(text_of_report(read), Not(HasSubstr("share")));
  EXPECT_THAT(explained_line(report), HasSubstr("contradict"));
}

TEST(RssRows, DoNotCallTheAllocatorsWhatWasNotSeen) {
  const Read read{.heap = 300 * kMiB, .anonymous = 200 * kMiB, .is_attached = true};
  const RssReport report = report_of(read);
  EXPECT_DOUBLE_EQ(value_of(report, RssPart::kSeenHeap), 100);
  EXPECT_DOUBLE_EQ(value_of(report, RssPart::kNotSeen), 400);
  EXPECT_DOUBLE_EQ(value_of(report, RssPart::kAllocator), -1);
  EXPECT_DOUBLE_EQ(value_of(report, RssPart::kAnonymous), -1);
  EXPECT_DOUBLE_EQ(sum_of(report), static_cast<double>(report.resident));
  EXPECT_THAT(text_of_report(read), HasSubstr("Not seen, or allocator: 79.8 % [79.1, 79.9] of 501 "
                                              "MiB resident; live heap that was seen is 20.0 %"));
}

TEST(RssRows, HaveNoSharesFarFromTheMaximum) {
  const Read read{.heap = 110 * kMiB};
  profile::Recording recording = recording_of(read);
  recording.observations[0].high_water = 130 * kMiB;
  recording.observations[0].last = recording.observations[0].at_maximum;
  const auto report = rss_report(recording, {});
  ASSERT_TRUE(report.has_value());
  EXPECT_THAT(
      to_text(report.value(), recording, {.width = 200}),
      AllOf(HasSubstr("No reading near the maximum: 111 MiB resident"), Not(HasSubstr("share"))));
  EXPECT_THAT(to_json(report.value(), recording), Not(HasSubstr("\"share\"")));
  RssOptions last;
  last.moment = profile::Moment::kLast;
  const auto latest = rss_report(recording, last);
  ASSERT_TRUE(latest.has_value());
  EXPECT_THAT(to_text(latest.value(), recording, {.width = 200}),
              HasSubstr("Live heap is 90 % [90, 94] of 111 MiB"));
}

}  // namespace
}  // namespace geiger::report
