#include "fleet/document/document.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/profile/frames/stack_answers.h"
#include "analysis/profile/select/profile.h"
#include "fleet/document/cut.h"
#include "fleet/document/recall.h"
#include "fleet/document/test_documents.h"

namespace geiger::fleet {
namespace {

using profile::Kind;

/// What Recall makes of documents, as a store would add them up.
profile::Recording recalled(const std::vector<Document>& documents, Kind kind) {
  Recall recall(kind);
  HostSums host;
  host.host = documents.front().window.key.host;
  std::map<std::tuple<StackId, Bytes, Bytes, std::uint32_t, bool>, SummedRow> sums;
  for (const Document& document : documents) {
    host.interval = std::max(host.interval, document.window.interval);
    for (const CountRow& row : document.counts) {
      SummedRow& sum = sums[{row.stack, row.size, row.interval, row.thinning, row.is_certain}];
      sum = {row.stack,
             row.size,
             row.interval,
             row.thinning,
             row.is_certain,
             sum.allocated + row.allocated,
             sum.live_ms + row.live * document.window.recorded_ms};
    }
  }
  recall.add_host(host);
  for (const auto& [key, row] : sums) recall.add(row);
  for (const Document& document : documents) {
    for (const Location& location : document.locations) recall.add_location(location);
    for (const Stack& stack : document.stacks) recall.add_stack(stack);
  }
  EXPECT_TRUE(recall.missing_stacks().empty());
  return recall.finish();
}

TEST(Cut, WindowsOfTheGridAddUpToTheRecording) {
  const profile::Recording recording = random_recording(1);
  const std::vector<Document> documents = documents_of(recording);
  ASSERT_EQ(documents.size(), 3U);
  EXPECT_EQ(documents[0].window.key.started, kMidnight);
  EXPECT_EQ(documents[2].window.key.started, kMidnight + 2 * kGrid);
  EXPECT_EQ(documents[0].window.recorded_ms, 500'000U);
  EXPECT_EQ(documents[1].window.recorded_ms, 600'000U);
  EXPECT_EQ(documents[2].window.recorded_ms, 400'000U);
  // Only their sum is known.
  EXPECT_FALSE(documents[2].window.exact_bytes.has_value());
  std::uint64_t allocated = 0;
  for (const Document& document : documents) {
    for (const CountRow& row : document.counts) allocated += row.allocated;
  }
  EXPECT_EQ(allocated, recording.samples.size());
}

TEST(Cut, LiveIsWhatLivesAtTheEndOfTheWindow) {
  const profile::Recording recording = random_recording(2);
  const std::vector<Document> documents = documents_of(recording);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const Nanoseconds end =
        recording.processes[0].start + (500 + 600 * static_cast<Nanoseconds>(i)) * kSecond;
    std::uint64_t live = 0, expected = 0;
    for (const CountRow& row : documents[i].counts) live += row.live;
    for (const profile::Sample& sample : recording.samples) {
      const bool is_live = sample.free_time == 0 || sample.free_time > end;
      expected += static_cast<std::uint64_t>(sample.time <= end && is_live);
    }
    EXPECT_EQ(live, expected) << i;
  }
}

TEST(Cut, AProcessOfOneWindowHasItsExactTotal) {
  profile::Recording recording = random_recording(3, 50);
  std::erase_if(recording.samples, [&](const profile::Sample& sample) {
    return sample.time > recording.processes[0].start + 200 * kSecond;
  });
  recording.processes[0].end = recording.processes[0].start + 300 * kSecond;
  const std::vector<Document> documents = documents_of(recording);
  ASSERT_EQ(documents.size(), 1U);
  EXPECT_EQ(documents[0].window.exact_bytes, 123'456U);
}

TEST(Cut, LeavesOutAProcessWhoseNumbersCannotBe) {
  const auto left_out = [](auto change) {
    profile::Recording recording = random_recording(3, 50);
    change(recording.processes[0]);
    const auto cut_recording = cut(recording, kOrigin);
    EXPECT_TRUE(cut_recording.has_value() && cut_recording->documents.empty());
    return cut_recording->left_out.empty() ? "" : cut_recording->left_out[0].reason;
  };
  EXPECT_EQ(left_out([](profile::Process& process) { process.end = ~Nanoseconds{0}; }),
            "it was recorded for longer than a year");
  EXPECT_EQ(left_out([](profile::Process& process) { process.start_realtime = ~Nanoseconds{0}; }),
            "it started too late");
  EXPECT_EQ(left_out([](profile::Process& process) { process.start_realtime = 0; }),
            "its time is not in seconds since 1970");
  EXPECT_EQ(left_out([](profile::Process& process) { process.drops[0] = ~std::uint64_t{0}; }),
            "it has numbers out of range");
}

TEST(Cut, TooManyRowsKeepTheirTotal) {
  profile::Recording recording = random_recording(4, 1);
  recording.samples.clear();
  for (std::uint32_t i = 0; i < 80'000; ++i) {
    recording.locations.push_back({0, 0x100 + i, 0, {}});
    recording.stacks.push_back(
        {{static_cast<std::uint32_t>(recording.locations.size() - 1)}, false});
    profile::Sample& sample = recording.samples.emplace_back();
    sample.stack = static_cast<std::uint32_t>(recording.stacks.size() - 1);
    sample.requested = 16 + i % 7;
    sample.time = recording.processes[0].start + 1;
  }
  const Document document = documents_of(recording).front();
  EXPECT_LE(document.counts.size(), kMostRows);
  std::uint64_t allocated = 0, untold = 0;
  const StackId rest = document.stacks.back().id;
  for (const CountRow& row : document.counts) {
    allocated += row.allocated;
    if (row.stack == rest) untold += row.allocated;
  }
  EXPECT_EQ(allocated, 80'000U);
  EXPECT_GT(untold, 30'000U);
  EXPECT_EQ(check_limits(document).reason(), "");
}

TEST(Recall, IsTheRecordingToEveryEstimate) {
  const profile::Recording recording = random_recording(9);
  const std::vector<Document> documents = documents_of(recording);
  const profile::Recording same = recalled(documents, Kind::kAllocated);
  EXPECT_EQ(total(recording, select(recording, Kind::kAllocated)),
            total(same, select(same, Kind::kAllocated)));
}

TEST(Cut, ResidentMemoryIsAddedUpOverWindows) {
  profile::Recording recording = random_recording(11);
  EXPECT_EQ(documents_of(recording)[1].window.rss_byte_seconds, 0U) << "not observed";
  profile::Observations& observations = recording.observations.emplace_back();
  const Nanoseconds start = recording.processes[0].start;
  for (const auto& [after, resident] : {std::pair(100, 1000), {800, 3000}}) {
    profile::SeriesPoint& point = observations.series.emplace_back();
    point.time = start + static_cast<Nanoseconds>(after) * kSecond;
    point.counts.resident = static_cast<Bytes>(resident);
  }
  const std::vector<Document> documents = documents_of(recording);
  EXPECT_EQ(documents[0].window.rss_byte_seconds, 500U * 1000);
  EXPECT_EQ(documents[1].window.rss_byte_seconds, 300U * 1000 + 300U * 3000);
  EXPECT_EQ(documents[2].window.rss_byte_seconds, 400U * 3000);
}

TEST(Recall, LiveIsWeightedByTheLengthOfItsWindow) {
  const profile::Recording recording = random_recording(10);
  const std::vector<Document> documents = documents_of(recording);
  const profile::Recording same = recalled(documents, Kind::kLiveAtEnd);
  double expected = 0;
  for (const Document& document : documents) {
    for (const CountRow& row : document.counts) {
      expected += static_cast<double>(row.live * document.window.recorded_ms);
    }
  }
  double counted = 0;
  for (const profile::Tally& tally : same.tallies) counted += static_cast<double>(tally.allocated);
  EXPECT_EQ(counted, expected);
}

TEST(Recall, AStackThatDidNotComeHasAFrameThatSaysSo) {
  Recall recall(Kind::kAllocated);
  HostSums host;
  host.interval = 1024;
  recall.add_host(host);
  recall.add({.stack = 5, .size = 16, .interval = 1024, .allocated = 3});
  EXPECT_EQ(recall.missing_stacks(), std::vector<StackId>{5});
  const profile::Recording recording = recall.finish();
  const profile::Stack& stack = recording.stacks[recording.tallies[0].alike.stack];
  const std::uint32_t frame = recording.locations[stack.locations[0]].frames[0];
  EXPECT_EQ(recording.frames[frame].function, "[stack not sent yet]");
  EXPECT_FALSE(profile::is_whole(recording, recording.tallies[0].alike.stack));
}

TEST(Limits, NamesAreText) {
  EXPECT_TRUE(check_name("web-1.example.org").has_value());
  EXPECT_FALSE(check_name("").has_value());
  EXPECT_FALSE(check_name("two\nlines").has_value());
  EXPECT_FALSE(check_name(std::string(201, 'x')).has_value());
}

}  // namespace
}  // namespace geiger::fleet
