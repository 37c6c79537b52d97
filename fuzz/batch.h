// Runs numbered cases in processes with limits, each of which takes over where the
// one before it died: a case may crash, hang or devour memory, and is counted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/units.h"

namespace geiger::fuzz {

struct CaseLimits {
  Bytes memory = 512 * kMiB;  ///< Of address space, of each process.
  double seconds = 5;         ///< Of processor time, per case.
};

struct CaseFault {
  std::uint64_t number = 0;
  std::string cause;  ///< "signal 11", "broken promise", ...
};

struct BatchResult {
  std::vector<CaseFault> faults;
  Bytes peak_memory = 0;  ///< Largest resident set of any process, and of its children.
  double slowest = 0;     ///< Longest case by the clock, in seconds.
  std::uint64_t slowest_number = 0;
  std::vector<std::uint64_t> tallies;  ///< What cases counted with Tally.
};

/// Counters that outlive the process that runs a case.
class Tally {
 public:
  explicit Tally(std::uint64_t* counters) : counters_(counters) {}
  void add(std::size_t which, std::uint64_t amount = 1) const { counters_[which] += amount; }

 private:
  std::uint64_t* counters_;
};
inline constexpr std::size_t kTallies = 8;

/// Runs case(first) ... case(first + count - 1).
[[nodiscard]] BatchResult run_cases(std::uint64_t first, std::uint64_t count,
                                    const CaseLimits& limits,
                                    const std::function<void(std::uint64_t, const Tally&)>& run);

}  // namespace geiger::fuzz
