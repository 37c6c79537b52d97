// Fewer samples from the same recording, with probabilities that stay exact.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace geiger::estimation {

/// The probability with which to keep a sample drawn with rate `from` so that
/// what is kept is distributed as if drawn with the rate `to` <= `from`:
/// pi_to / pi_from. Add what is kept with rate `to`. Certain samples: see
/// inclusion_probability(size, to).
[[nodiscard]] double keep_probability(Bytes size, double from, double to);

/// The share of the rate that locates a peak; the rest estimates (docs/estimators.md, section 11).
inline constexpr double kLocatingShare = 0.25;

/// Which of two processes drew a sample; at least one of them.
struct Parts {
  bool in_first = false;
  bool in_second = false;
};

/// Splits one process of rate `lambda` into two independent ones of the rates share * lambda and (1
/// - share) * lambda: each holds exactly the samples that a recording of its own at that rate would
/// hold, and neither has information about the other. (A plain coin per sample does not: an object
/// in one part is then never in the other, so that the first part says something about the second.)
///
/// `offset` is that of the drawn byte, `share` in (0, 1), `random` 64 uniform bits. At
/// lambda = +inf and for certain objects (do not ask) both parts hold everything.
[[nodiscard]] Parts parts_of(Bytes size, std::uint64_t offset, double lambda, double share,
                             std::uint64_t random);

/// q = 1 - (1 - pi)^share: independent processes that include an object with these
/// probabilities, of shares that add up to 1, together include it with pi. `pi` in [0, 1].
[[nodiscard]] double part_of(double pi, double share);

/// Splits the inclusion of an object with probability `pi` into two independent ones of
/// part_of(pi, share) and part_of(pi, 1 - share), for samples whose drawn byte is not all that
/// decided: those that a thinning kept. `random`: 64 uniform bits.
[[nodiscard]] Parts split(double pi, double share, std::uint64_t random);

/// Beside split(): an inclusion that is independent of the first of those parts, of samples
/// drawn with `drawn` of which only some were put to that split, whose pi is `kept` <= `drawn`.
/// It has all samples that are not in the first part, and the others with the probability
/// that is returned, which is that of the inclusion: (drawn - q) / (1 - q).
[[nodiscard]] double beside_first_part(double drawn, double kept, double share);

}  // namespace geiger::estimation
