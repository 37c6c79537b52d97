// How often leaks are wrongly suspected where the judged instant was chosen by the data. Fixed
// seeds; limits leave four standard errors around 0.05 (a false alarm of a fresh seed once in
// 16,000 comparisons).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "analysis/profile/testing/simulated_heaps.h"

namespace geiger::profile::teardown_simulation_test {
namespace {

using namespace simulated;  // NOLINT(google-build-using-namespace)

constexpr int kRepeats = 200;

/// How a program ends, and which of its heaps is judged.
struct Judgement {
  const char* name;
  double teardown;  ///< Share of the time; 0: it frees nothing at its end.
  LeakSite (Heap::*judge)();
};

constexpr Judgement kJudgements[] = {
    {"no teardown", 0, &Heap::judged_before_teardown},
    {"short teardown", 0.002, &Heap::judged_before_teardown},
    {"long teardown", 0.04, &Heap::judged_before_teardown},
};

double suspected(const Program& program, double expected, const Judgement& judgement) {
  int suspects = 0;
  for (int i = 0; i < kRepeats; ++i) {
    Heap heap(static_cast<std::uint64_t>(i) + 1);
    program(heap, expected);
    if (judgement.teardown > 0) heap.tidy_up(judgement.teardown);
    const LeakSite site = (heap.*judgement.judge)();
    suspects += site.is_tested && site.p_value <= 0.05;
  }
  return static_cast<double>(suspects) / kRepeats;
}

/// What docs/internals/estimators.md quotes.
void print_rate(const std::string& program, double expected, const Judgement& judgement,
                double rate) {
  std::printf("%s, %.0f samples, %s: %.3f\n", program.c_str(), expected, judgement.name, rate);
}

double error_of(double rate) { return std::sqrt(rate * (1 - rate) / kRepeats); }

TEST(TeardownSimulation, HeapsWithinBoundsAreNoSuspects) {
  std::vector<std::pair<std::string, Program>> programs;
  for (const double mean : {0.001, 0.02, 0.1, 0.3}) {
    programs.emplace_back("flat " + std::to_string(mean), flat(mean));
  }
  for (const double period : {0.02, 0.0577, 0.1, 0.37}) {
    programs.emplace_back("sawtooth " + std::to_string(period), sawtooth(period));
  }
  for (const double fill : {0.05, 0.125, 0.25}) {
    programs.emplace_back("cache " + std::to_string(fill), cache(fill));
  }
  for (const double span : {0.1, 0.3, 0.5}) {
    programs.emplace_back("bounded " + std::to_string(span), bounded(span));
  }
  programs.emplace_back("one table", bursts(1));
  programs.emplace_back("three tables", bursts(3));
  for (const auto& [name, program] : programs) {
    for (const double expected : {20.0, 60.0, 400.0}) {
      for (const Judgement& judgement : kJudgements) {
        const double rate = suspected(program, expected, judgement);
        if (rate > 0.05) print_rate(name, expected, judgement, rate);
        EXPECT_LE(rate, 0.05 + 4 * error_of(0.05))
            << name << " " << expected << " " << judgement.name;
      }
    }
  }
}

// A heap that grew most of the time and was emptied just once, shortly before the end, cannot be
// told from a leak that was tidied up: 6 % of the phases of this one.
TEST(TeardownSimulation, OneLongToothIsNotToldFromALeak) {
  for (const double expected : {20.0, 60.0, 400.0}) {
    for (const Judgement& judgement : kJudgements) {
      const double rate = suspected(sawtooth(0.8), expected, judgement);
      print_rate("sawtooth 0.8", expected, judgement, rate);
      EXPECT_LE(rate, 0.18 + 4 * error_of(0.18)) << expected << " " << judgement.name;
    }
  }
}

// Why reports warn of a peak as the judged instant: what stays within bounds grew up to it.
TEST(TeardownSimulation, AtThePeakHeapsWithinBoundsOftenAre) {
  const Judgement peak{"peak", 0, &Heap::judged_at_peak};
  for (const auto& [span, least] : {std::pair(0.3, 0.4), std::pair(0.5, 0.5)}) {
    const double rate = suspected(bounded(span), 60, peak);
    print_rate("bounded " + std::to_string(span), 60, peak, rate);
    EXPECT_GE(rate, least - 4 * error_of(least));
  }
}

// Programs that leak until they tidy up: found as often as where they free nothing.
TEST(TeardownSimulation, LeaksThatAreFreedAtExitAreFound) {
  const Judgement none = kJudgements[0], brief = kJudgements[1], slow = kJudgements[2];
  for (const double expected : {20.0, 60.0, 200.0}) {
    const double kept = suspected(leak(1, 0.001), expected, none);
    print_rate("leak", expected, none, kept);
    EXPECT_GE(kept, expected < 60 ? 0.7 : 0.9);
    for (const Judgement& judgement : {brief, slow}) {
      const double freed = suspected(leak(1, 0.001), expected, judgement);
      print_rate("leak", expected, judgement, freed);
      EXPECT_GE(freed, kept - 4 * error_of(kept)) << expected << " " << judgement.name;
    }
  }
}

// However long it takes to tidy up, the heap is not judged half emptied: what leaked would seem to
// have shrunk. Longer teardowns than a twentieth of the time are undecided.
TEST(TeardownSimulation, NoTeardownIsCutInTwo) {
  for (const double part : {0.02, 0.045, 0.05, 0.055, 0.06, 0.07, 0.1, 0.15, 0.2}) {
    int found = 0;
    for (int i = 0; i < kRepeats; ++i) {
      Heap heap(static_cast<std::uint64_t>(i) + 1);
      leak(1, 0.001)(heap, 60);
      heap.tidy_up(part);
      const Teardown teardown = heap.teardown();
      ASSERT_NE(teardown.kind, Teardown::Kind::kNotFound) << part;
      found += teardown.is_found();
      EXPECT_GE(teardown.live, 0.95 * heap.live_at(1 - part)) << part << ", seed " << i + 1;
    }
    std::printf("teardown of %.3f: found in %d of %d\n", part, found, kRepeats);
    EXPECT_GE(found, part < 0.05 ? kRepeats : 0) << part;
    EXPECT_LE(found, part > 0.06 ? 0 : kRepeats) << part;
  }
}

}  // namespace
}  // namespace geiger::profile::teardown_simulation_test
