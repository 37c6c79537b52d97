// The self-check of a recording: whether the number of hits fits the trials, whether offsets follow
// the law of a correct sampler, whether every hit became a sample, whether threads drew the same
// numbers, whether the estimate agrees with the exact total.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/totals.h"
#include "estimation/distributions/uniformity.h"
#include "estimation/estimate.h"

namespace geiger::profile {

/// Conclusive hits against what conclusive trials let expect (totals.h).
struct HitCheck {
  std::uint64_t hits = 0;
  double expected = 0;
  double z = 0;
  /// Two-sided; from z for 400 expected hits and more, else of a Poisson number; with
  /// several intervals by totals.h. 1 where nothing was tried.
  double p_value = 1;
  /// False where there are several intervals and hits lack their samples, which tell
  /// them: `expected` and `z` say nothing and `p_value` stays 1.
  bool is_testable = true;

  [[nodiscard]] bool has_failed() const { return p_value < kFalseAlarm; }
  static constexpr double kFalseAlarm = 6.3e-5;  ///< Probability of |z| > 4.
};
[[nodiscard]] HitCheck check_hits(const Recording& recording);
[[nodiscard]] HitCheck check_hits(const Recording& recording, std::uint32_t process);
/// HitCheck::is_testable of the whole recording, without the check.
[[nodiscard]] bool has_every_hit(const Recording& recording);

/// The offsets of all tried samples. The randomness that makes positions
/// continuous is a hash of the process seed and the sample's place in its
/// process, so every reading of a trace says the same.
[[nodiscard]] estimation::OffsetReport check_offsets(const Recording& recording);
[[nodiscard]] estimation::OffsetReport check_offsets(const Recording& recording,
                                                     std::uint32_t process);

/// Hits and certain objects that the runtime counted, against the samples found.
struct Accounting {
  std::uint64_t counted = 0;
  std::uint64_t found = 0;
  std::uint64_t dropped = 0;    ///< Samples and frees that the runtime counted as dropped.
  std::uint64_t in_flight = 0;  ///< Threads cut off; each may lack its last sample.
  /// Threads of which segments are missing: each may have counted a sample in one and written it
  /// in the next.
  std::uint64_t between = 0;

  /// Counted, not found, and explained by nothing.
  [[nodiscard]] std::uint64_t missing() const;
  /// Found, but never counted.
  [[nodiscard]] std::uint64_t surplus() const {
    return found > counted + between ? found - counted - between : 0;
  }
};
[[nodiscard]] Accounting account(const Recording& recording, std::uint32_t process);

/// The estimate of a process against what it allocated exactly.
struct Agreement {
  estimation::Estimate estimate;  ///< At level 1 - kFalseAlarm.
  Bytes least = 0, most = 0;      ///< Exact total, without and with what is not settled.

  /// Whether the interval misses both ends of the exact total.
  [[nodiscard]] bool has_failed() const;
  static constexpr double kFalseAlarm = 1e-6;
};
[[nodiscard]] Agreement compare_with_exact(const Recording& recording, std::uint32_t process,
                                           const ProcessTotals& totals);

/// Threads that drew the same numbers: their first samples have the same sizes and
/// the same offsets, which independent draws do not.
struct SharedDraws {
  std::vector<std::uint32_t> processes;  ///< Of these threads, each once, ascending.
  std::uint64_t threads = 0;
  std::uint64_t samples = 0;  ///< Alike in each, from the first on.
  double log10_p = 0;         ///< Of the chance of it, with all possible choices counted in.
};
/// Groups that chance would show once in a million recordings. Nested groups are
/// reported once, by the least probable.
[[nodiscard]] std::vector<SharedDraws> shared_draws(const Recording& recording);

}  // namespace geiger::profile
