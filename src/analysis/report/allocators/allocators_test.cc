#include "analysis/report/allocators/allocators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace geiger::report {
namespace {

using testing::HasSubstr;
using testing::Not;

AllocatorRuns runs_of(const std::string& name, double cpu, Bytes peak, int rounds = 5) {
  AllocatorRuns runs;
  runs.name = name;
  if (name != "libc.so.6") {
    runs.version = "2.0.9";
    runs.path = "/usr/lib/" + name;
  }
  for (int round = 0; round < rounds; ++round) {
    // A round that is disturbed is so under all.
    const double busy = 1 + 0.05 * round;
    runs.trials.push_back({.cpu = cpu * busy, .peak = peak + kKiB * static_cast<Bytes>(round)});
  }
  return runs;
}

AllocatorsReport report_of(std::vector<AllocatorRuns> runs) {
  AllocatorsReport report = allocators_report(std::move(runs), 0.95);
  report.program = "server --once";
  return report;
}

TEST(CompareMalloc, NamesTheAllocatorThatTakesLess) {
  const std::string text =
      to_text(report_of({runs_of("libc.so.6", 1, 100 * kMiB), runs_of("mimalloc", 0.5, 120 * kMiB),
                         runs_of("jemalloc", 0.8, 90 * kMiB)}),
              {});
  EXPECT_THAT(text, HasSubstr("Under mimalloc 2.0.9 it takes 0.50 [0.50, 0.50] of the processor "));
  EXPECT_THAT(text, HasSubstr("jemalloc 2.0.9 it takes 0.80"));
  EXPECT_THAT(text, HasSubstr("its own (libc.so.6)"));
  EXPECT_THAT(text, HasSubstr("not known"));
}

TEST(CompareMalloc, NamesNoneWhereNoneSurelyDoes) {
  AllocatorRuns scattered = runs_of("mimalloc", 1, 100 * kMiB);
  for (std::size_t i = 0; i < scattered.trials.size(); ++i) {
    scattered.trials[i].cpu *= i % 2 == 0 ? 0.7 : 1.2;
  }
  const auto report = report_of({runs_of("libc.so.6", 1, 100 * kMiB), scattered});
  EXPECT_LT(report.lines[1].cpu_ratio.value, 1);
  EXPECT_THAT(to_text(report, {}),
              HasSubstr("In 5 rounds no allocator took significantly less processor time"));
  // One run says nothing of its error.
  const auto once =
      report_of({runs_of("libc.so.6", 1, kMiB, 1), runs_of("mimalloc", 0.1, kMiB, 1)});
  EXPECT_THAT(to_text(once, {}), HasSubstr("1 round is too few to say"));
}

TEST(CompareMalloc, ClaimsNothingFromTwoRounds) {
  const auto twice =
      report_of({runs_of("libc.so.6", 1, kMiB, 2), runs_of("mimalloc", 0.5, kMiB / 2, 2)});
  EXPECT_FALSE(twice.lines[1].takes_less_cpu);
  EXPECT_FALSE(twice.lines[1].takes_less_memory);
  EXPECT_THAT(to_text(twice, {}),
              HasSubstr("2 rounds are too few to say whether an allocator takes less"));
}

TEST(CompareMalloc, SaysWhichLibraryIsTheProgramsOwn) {
  AllocatorRuns same = runs_of("mimalloc", 0.5, kMiB);
  same.is_own_too = true;
  const auto report = report_of({runs_of("libmimalloc.so.2.0", 1, kMiB), same});
  EXPECT_FALSE(report.lines[1].takes_less_cpu);
  EXPECT_THAT(to_text(report, {}), HasSubstr("mimalloc 2.0.9 is the program's own allocator"));
}

TEST(CompareMalloc, SaysWhatWasLeftOut) {
  AllocatorRuns broken;
  broken.name = "tcmalloc";
  broken.path = "/usr/lib/tcmalloc";
  broken.fault = "ended with signal 11, not with exit code 0";
  auto report = report_of({runs_of("libc.so.6", 1, kMiB), broken});
  EXPECT_THAT(to_text(report, {}), Not(HasSubstr("Every run")));
  report.ending = "exit code 2";
  const std::string text = to_text(report, {});
  EXPECT_THAT(text, HasSubstr("Every run ended with exit code 2.\n"));
  EXPECT_THAT(text, HasSubstr("tcmalloc: ended with signal 11, not with exit code 0.\n"));
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["report"], "compare-malloc");
  EXPECT_EQ(json["allocators"][0]["is_own"], true);
  EXPECT_EQ(json["allocators"][0]["runs"].size(), 5);
  EXPECT_NEAR(json["allocators"][0]["cpu_of_own"]["value"].get<double>(), 1, 1e-12);
  EXPECT_EQ(json["allocators"][1]["fault"], broken.fault);
  EXPECT_FALSE(json["allocators"][1].contains("cpu_seconds"));
}

}  // namespace
}  // namespace geiger::report
