#include "analysis/report/advice/other_allocators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/profile/testing/test_recording.h"

namespace geiger::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Five rounds; each takes a little more than the one before, under all alike.
AllocatorRuns rounds_under(const std::string& name, double cpu, Bytes peak) {
  AllocatorRuns runs;
  runs.name = name;
  if (name != "libc.so.6") runs.path = "/usr/lib/lib" + name + ".so";
  for (int round = 0; round < 5; ++round) {
    const double more = 1 + 0.01 * round;
    runs.trials.push_back({cpu * more, static_cast<Bytes>(static_cast<double>(peak) * more)});
  }
  return runs;
}

StoredComparison comparison_with(AllocatorRuns other, Bytes own_peak = 100 * kMiB) {
  return {.of = {"/bin/server", "12ab"},
          .command = "server --once",
          .runs = {rounds_under("libc.so.6", 2, own_peak), std::move(other)}};
}

AdviceReport report_of(StoredComparison stored) {
  AdviceReport report;
  report.allocators = other_allocators(std::move(stored), report.findings.options);
  return report;
}

TEST(OtherAllocators, AreNamedWithWhatTheySaveAndWhatTheyTake) {
  const AdviceReport report = report_of(comparison_with(rounds_under("mimalloc", 1.8, 120 * kMiB)));
  const std::string text = to_text(report, {});
  EXPECT_THAT(text, HasSubstr("1 other allocator to try. It surely saves at least 5 % of"));
  EXPECT_THAT(text,
              HasSubstr("Saves 10 % of 2.04 s of processor time, and takes 20.000 % ± 0.001 more"));
  EXPECT_THAT(text, HasSubstr("preload /usr/lib/libmimalloc.so."));
  EXPECT_THAT(text, HasSubstr("compared with mimalloc in 5 rounds of server --once."));
  EXPECT_THAT(text, Not(HasSubstr("Not looked for")));
}

TEST(OtherAllocators, AreNotNamedBelowTheBounds) {
  for (const AllocatorRuns& other :
       {rounds_under("mimalloc", 1.91, 100 * kMiB), rounds_under("mimalloc", 2, 96 * kMiB)}) {
    const AdviceReport report = report_of(comparison_with(other));
    EXPECT_THAT(report.allocators.better, IsEmpty());
    EXPECT_THAT(to_text(report, {}), HasSubstr("Looked for and not found: another allocator."));
  }
  EXPECT_THAT(report_of(comparison_with(rounds_under("mimalloc", 2, 93 * kMiB))).allocators.better,
              testing::SizeIs(1));
  const auto little = comparison_with(rounds_under("mimalloc", 2, 7 * kMiB), 15 * kMiB / 2);
  EXPECT_THAT(report_of(little).allocators.better, IsEmpty()) << "below 1 MiB";
}

TEST(OtherAllocators, AreOpenWithoutEnoughRuns) {
  EXPECT_THAT(to_text(AdviceReport(), {}), HasSubstr("another allocator (no comparison is stored"));
  StoredComparison stored = comparison_with(rounds_under("mimalloc", 1, 50 * kMiB));
  for (AllocatorRuns& runs : stored.runs) runs.trials.resize(2);
  const AdviceReport report = report_of(stored);
  EXPECT_THAT(report.allocators.better, IsEmpty());
  EXPECT_THAT(to_text(report, {}), HasSubstr("another allocator (compared in too few rounds"));
  stored.runs.back().trials.clear();
  stored.runs.back().fault = "ended with signal 11";
  stored.runs.front().trials.resize(5);
  EXPECT_THAT(report_of(stored).allocators.why_not, HasSubstr("no other allocator"));
}

TEST(StoredComparison, ReadsWhatItWrote) {
  StoredComparison stored = comparison_with(rounds_under("mimalloc", 1.8, 120 * kMiB));
  stored.command = "server\n'a b'";
  stored.runs.back().version = "2.0.9";
  AllocatorRuns& failed = stored.runs.emplace_back();
  failed.name = "jemalloc";
  failed.path = "/j.so";
  failed.fault = "ended with signal 6";
  const auto read = from_stored(to_stored(stored));
  ASSERT_TRUE(read.has_value()) << read.reason();
  EXPECT_EQ(read->of, stored.of);
  EXPECT_EQ(read->command, "server?'a b'");
  ASSERT_EQ(read->runs.size(), 3U);
  EXPECT_EQ(read->runs[1].version, "2.0.9");
  EXPECT_EQ(read->runs[1].path, "/usr/lib/libmimalloc.so");
  ASSERT_EQ(read->runs[1].trials.size(), 5U);
  EXPECT_EQ(read->runs[1].trials[3].cpu, stored.runs[1].trials[3].cpu);
  EXPECT_EQ(read->runs[1].trials[3].peak, stored.runs[1].trials[3].peak);
  EXPECT_EQ(read->runs[2].fault, "ended with signal 6");
}

TEST(StoredComparison, RefusesOtherTexts) {
  const std::string good = to_stored(comparison_with(rounds_under("mimalloc", 1.8, 120 * kMiB)));
  const std::string first = good.substr(0, good.find('\n') + 1);
  for (const std::string& text :
       {std::string(), std::string("geiger compare-malloc 2\n") + good.substr(first.size()), first,
        good + "run 1\n", good + "run nan 1\n", good + "run -1 5\n", good + "other x\n",
        first + "run 1 1\n", first + "allocator a\n", good + "run 1 1\n" /* of one alone */}) {
    EXPECT_FALSE(from_stored(text).has_value()) << text;
  }
}

TEST(ComparedProgram, IsTheExecutableOfMostSamples) {
  profile::TestRecording made(64 * kKiB);
  made.recording.processes[0].executable = "/bin/server";
  made.recording.modules = {{.path = "/lib/libc.so.6", .build_id = "99"},
                            {.path = "/bin/server", .build_id = "12ab"}};
  EXPECT_EQ(compared_program(made.recording), (ComparedProgram{"/bin/server", "12ab"}));
}

}  // namespace
}  // namespace geiger::report
