// Selects fewer samples from a recording, with exact probabilities.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace geiger::estimation {

/// The probability to keep a sample drawn with rate `from` so that the kept samples are distributed
/// as if drawn with the rate `to` <= `from`: pi_to / pi_from. Add kept samples with rate `to`.
/// Certain samples: see inclusion_probability(size, to).
[[nodiscard]] double keep_probability(Bytes size, double from, double to);

/// The share of the rate that locates a peak; the rest estimates (docs/internals/estimators.md,
/// section 11).
inline constexpr double kLocatingShare = 0.25;

/// Which of two processes drew a sample: at least one.
struct Parts {
  bool in_first = false;
  bool in_second = false;
};

/// Splits one process of rate `lambda` into two independent ones of the rates share * lambda and (1
/// - share) * lambda: each contains exactly the samples that a separate recording at that rate
/// would contain, and neither has information about the other. (A plain coin per sample does not
/// achieve this: an object in one part is then never in the other, so the first part has
/// information about the second.)
///
/// `offset` is that of the drawn byte, `share` in (0, 1), `random` 64 uniform bits. At lambda =
/// +inf and for certain objects (do not call this for them) both parts contain everything.
[[nodiscard]] Parts parts_of(Bytes size, std::uint64_t offset, double lambda, double share,
                             std::uint64_t random);

/// q = 1 - (1 - pi)^share: independent processes that include an object with these
/// probabilities, of shares that add up to 1, together include it with pi. `pi` in [0, 1].
[[nodiscard]] double part_of(double pi, double share);

/// Splits the inclusion of an object with probability `pi` into two independent ones of
/// part_of(pi, share) and part_of(pi, 1 - share), for samples that were not selected by their drawn
/// byte alone, but kept by a thinning. `random`: 64 uniform bits.
[[nodiscard]] Parts split(double pi, double share, std::uint64_t random);

/// Complements split() for samples drawn with probability `drawn`, of which only those with pi
/// `kept` <= `drawn` were split: an inclusion that is independent of the first part. It contains
/// all samples that are not in the first part, and the others with the returned probability, which
/// is also that of the inclusion: (drawn - q) / (1 - q).
[[nodiscard]] double beside_first_part(double drawn, double kept, double share);

}  // namespace geiger::estimation
