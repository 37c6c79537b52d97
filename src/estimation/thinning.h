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

/// Which of two processes drew a sample; at least one of them.
struct Halves {
  bool in_first = false;
  bool in_second = false;
};

/// Splits one process of rate `lambda` into two independent ones of rate
/// lambda / 2: each holds exactly the samples that a recording of its own at
/// that rate would hold, and neither tells anything about the other. (A plain
/// coin per sample does not: an object in one half is then never in the other,
/// so that whoever looks at the first half knows something about the second.)
///
/// `offset` is that of the drawn byte, `random` 64 uniform bits. At lambda = +inf
/// and for certain objects (do not ask) both halves hold everything.
[[nodiscard]] Halves halves_of(Bytes size, std::uint64_t offset, double lambda,
                               std::uint64_t random);

/// q = 1 - sqrt(1 - pi): two independent processes that each include an object with
/// probability q together include it with pi. `pi` in [0, 1].
[[nodiscard]] double half_of(double pi);

/// Splits the inclusion of an object with probability `pi` into two independent ones of
/// half_of(pi), for samples whose drawn byte is not all that decided: those that a thinning
/// kept. `random`: 64 uniform bits.
[[nodiscard]] Halves split(double pi, std::uint64_t random);

/// Beside split(): an inclusion that is independent of the first of those halves, of samples
/// drawn with `drawn` of which only some were put to that split, whose pi is `kept` <= `drawn`.
/// It has all samples that are not in the first half, and the others with the probability
/// that is returned, which is that of the inclusion: (drawn - q) / (1 - q).
[[nodiscard]] double beside_first_half(double drawn, double kept);

}  // namespace geiger::estimation
