// Groupings that are not of stacks, and the marks.
#include "analysis/profile/groups/groupings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/profile/frames/labels.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/testing/test_recording.h"

namespace geiger::profile::groupings_test {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr Bytes kT = 1024;

struct Grouped {
  std::string name;
  std::uint64_t self, total;  ///< Samples.
  bool operator==(const Grouped&) const = default;
};

void PrintTo(const Grouped& one, std::ostream* out) {
  *out << one.name << " " << one.self << " " << one.total;
}

std::uint64_t samples_of(const estimation::NodeSums& sums) {
  return sums.samples + sums.certain_samples;
}

std::vector<Grouped> grouped(const Recording& recording, GroupBy by,
                             const Selection& selection = {}) {
  std::vector<Grouped> found;
  for (const Row& row : table(recording, select(recording, selection), by)) {
    found.push_back({row.name, samples_of(row.self), samples_of(row.total)});
  }
  return found;
}

TEST(Groupings, ThreadsOfOneNameAreOneRow) {
  TestRecording test(kT);
  const auto other = test.add_process(kT);
  auto& threads = test.recording.threads;
  threads.push_back({.process = 0, .tid = 11, .name = "io"});
  threads.push_back({.process = other, .tid = 12, .name = "io"});
  threads.push_back({.process = 0, .tid = 13, .name = ""});
  test.sample(kNone, 64).thread = 0;
  test.sample(kNone, 64).thread = 2;
  test.sample(kNone, 64);  // Of no thread.
  Sample& last = test.sample(kNone, 64);
  last.thread = 1;
  last.process = other;
  EXPECT_THAT(grouped(test.recording, GroupBy::kThread),
              UnorderedElementsAre(Grouped{"io", 2, 2}, Grouped{"[no name]", 1, 1},
                                   Grouped{"[no thread]", 1, 1}));
  EXPECT_THAT(grouped(test.recording, GroupBy::kTid),
              UnorderedElementsAre(Grouped{"io (tid 11)", 1, 1}, Grouped{"io (tid 12)", 1, 1},
                                   Grouped{"tid 13", 1, 1}, Grouped{"[no thread]", 1, 1}));
}

// request > tenant=acme > parse; tenant=zeta within the same request.
TEST(Groupings, ALabelCountsForThoseAroundIt) {
  TestRecording test(kT);
  test.recording.labels = {
      {"request", kNone}, {"tenant=acme", 0}, {"parse", 1}, {"tenant=zeta", 0}};
  for (const std::uint32_t label : {0U, 1U, 2U, 2U, 3U, kNone})
    test.sample(kNone, 64).label = label;
  EXPECT_THAT(
      grouped(test.recording, GroupBy::kLabel),
      UnorderedElementsAre(Grouped{"request", 1, 5}, Grouped{"request / tenant=acme", 1, 3},
                           Grouped{"request / tenant=acme / parse", 2, 2},
                           Grouped{"request / tenant=zeta", 1, 1}, Grouped{"[no label]", 1, 1}));
}

TEST(Groupings, WhatIsOfALostLabelMayBeOfAnyOther) {
  TestRecording test(kT);
  test.recording.labels = {{"request", kNone}, {"[lost label]", kNone, true}};
  for (const std::uint32_t label : {0U, 1U, 1U, kNone}) test.sample(kNone, 64).label = label;
  const Profile profile = select(test.recording, Kind::kAllocated);
  std::vector<std::pair<std::string, std::uint64_t>> open;
  for (const Row& row : table(test.recording, profile, GroupBy::kLabel)) {
    open.emplace_back(row.name, row.total.open.samples);
  }
  EXPECT_THAT(open, UnorderedElementsAre(std::pair{"request", 2}, std::pair{"[lost label]", 0},
                                         std::pair{"[no label]", 0}));
}

TEST(Groupings, SizeClassesHaveTheirBounds) {
  EXPECT_EQ(name_of_size_class(size_class_of(0)), "0 B");
  EXPECT_EQ(name_of_size_class(size_class_of(1)), "1 B");
  EXPECT_EQ(name_of_size_class(size_class_of(2)), "2-3 B");
  EXPECT_EQ(name_of_size_class(size_class_of(127)), "64-127 B");
  EXPECT_EQ(name_of_size_class(size_class_of(128)), "128-255 B");
  EXPECT_EQ(name_of_size_class(size_class_of(1023)), "512-1023 B");
  EXPECT_EQ(name_of_size_class(size_class_of(1024)), "1-2 KiB");
  EXPECT_EQ(name_of_size_class(size_class_of(700 * kKiB)), "512 KiB-1 MiB");
  EXPECT_EQ(name_of_size_class(size_class_of(5 * kMiB)), "4-8 MiB");
  EXPECT_EQ(name_of_size_class(size_class_of(600 * kMiB)), "512 MiB-1 GiB");
  EXPECT_EQ(name_of_size_class(size_class_of(3 * kGiB)), "2-4 GiB");
  EXPECT_FALSE(name_of_size_class(size_class_of(~Bytes{0})).empty());
}

// Sizes from T on are all recorded, so that nothing of them can be missing.
TEST(Groupings, LargeSizesAreExact) {
  TestRecording test(kT);
  test.sample(kNone, 100);
  test.sample(kNone, 4096).is_certain = true;
  const auto rows = table(test.recording, select(test.recording, Selection{}), GroupBy::kSize);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "4-8 KiB");
  EXPECT_EQ(rows[0].self.largest_interval, 0);
  EXPECT_GT(rows[1].self.largest_interval, kT - 1.0);
  EXPECT_GT(rows[0].place, rows[1].place);
}

TEST(Groupings, AlignmentsAreThoseAskedFor) {
  TestRecording test(kT);
  test.sample(kNone, 100);
  test.sample(kNone, 100).log2_alignment = 6;
  test.sample(kNone, 100).log2_alignment = 6;
  test.sample(kNone, 100).log2_alignment = 12;
  for (const Kind kind : {Kind::kAllocated, Kind::kLiveAtEnd}) {
    const auto rows = table(test.recording, select(test.recording, kind), GroupBy::kAlignment);
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].name, "64 B");
    EXPECT_EQ(rows[0].self.samples, 2U);
    EXPECT_EQ(rows[0].place, 6U);
  }
  EXPECT_EQ(name_of_alignment(0), "none requested");
  EXPECT_EQ(name_of_alignment(12), "4 KiB");
  EXPECT_EQ(name_of_alignment(255), "2^255 B");
}

TEST(Groupings, LifetimesAreDecades) {
  TestRecording test(kT);
  test.sample(kNone, 64, 5000, 5999);
  test.sample(kNone, 64, 5000, 6000);
  test.sample(kNone, 64, 5000, 15'000);
  test.sample(kNone, 64, 5000, 0);
  Selection selection;
  selection.splits_by_lifetime = true;
  EXPECT_THAT(grouped(test.recording, GroupBy::kLifetime, selection),
              UnorderedElementsAre(Grouped{"< 1 us", 1, 1}, Grouped{"1-10 us", 1, 1},
                                   Grouped{"10-100 us", 1, 1}, Grouped{"alive at end", 1, 1}));
}

TEST(Groupings, TypesComeFromTheProgramOrFromFrames) {
  TestRecording test(kT);
  test.recording.types = {{"Order"}};
  const auto vector = test.stack(
      {test.location({"std::__new_allocator<Order>::allocate(unsigned long, void const*)",
                      "std::vector<Order, std::allocator<Order> >::reserve(unsigned long)"}),
       test.location({"main"})});
  const auto plain = test.stack({test.location({"main"})});
  // A type further up the stack is not that of what its callees allocate.
  const auto within = test.stack(
      {test.location({"helper"}),
       test.location({"std::__new_allocator<Other>::allocate(unsigned long, void const*)"})});
  const auto nameless = test.stack({test.location({})});
  test.sample(vector, 64);
  test.sample(plain, 64).type = 0;
  test.sample(within, 64).type = 0;
  for (const std::uint32_t stack : {plain, within, nameless, kNone}) test.sample(stack, 64);
  EXPECT_THAT(grouped(test.recording, GroupBy::kType),
              UnorderedElementsAre(Grouped{"Order", 3, 3}, Grouped{"[unknown]", 4, 4}));
}

TEST(Groupings, ARowOfTheHeapThatWasSelected) {
  TestRecording test(kT);
  test.recording.heaps = {{"pool"}};
  test.sample(kNone, 64);
  Sample pooled = test.recording.samples[0];
  pooled.heap = 0;
  test.recording.heap_samples = {pooled, pooled};
  EXPECT_THAT(grouped(test.recording, GroupBy::kHeap), ElementsAre(Grouped{"[process]", 1, 1}));
  Selection selection;
  selection.heap = 0;
  EXPECT_THAT(grouped(test.recording, GroupBy::kHeap, selection),
              ElementsAre(Grouped{"pool", 2, 2}));
}

TEST(Marks, AreNumberedInOrderOfTime) {
  TestRecording test;
  test.add_process();
  test.recording.marks = {{.process = 0, .time = 9000, .name = "step"},
                          {.process = 0, .time = 2000, .name = "warm"},
                          {.process = 1, .time = 3000, .name = "step"}};
  const auto marks = numbered_marks(test.recording);
  ASSERT_EQ(marks.size(), 3U);
  EXPECT_EQ(marks[0].mark, 1U);
  EXPECT_EQ(marks[0].of_name, 1U);
  EXPECT_EQ(marks[1].mark, 2U);
  EXPECT_EQ(marks[1].number, 1U);
  EXPECT_EQ(marks[2].mark, 0U);
  EXPECT_EQ(marks[2].number, 2U);
  EXPECT_EQ(marks[2].of_name, 2U);
}

TEST(ProgramName, IsWhatWasStarted) {
  Process process;
  process.executable = "/usr/bin/redis-check-rdb";
  EXPECT_EQ(program_name(process), "redis-check-rdb");
  process.started_as = "redis-server";
  EXPECT_EQ(program_name(process), "redis-server");
}

}  // namespace
}  // namespace geiger::profile::groupings_test
