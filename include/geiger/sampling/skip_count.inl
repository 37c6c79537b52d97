// The definition of skip_count.h.
#pragma once

#include <limits>

#include "geiger/sampling/logarithm.h"
#include "geiger/sampling/skip_count.h"

namespace geiger::sampling {

// P(K >= k) = P(-ln(u) >= lambda k) = P(u <= e^(-lambda k)) = q^k for a uniform u
// in (0, 1]. The edges:
//
//   u     k + 1 lies in [1, 2^53], which doubles hold exactly, and so does the
//         product with a power of two. u = 0 cannot occur (a logarithm of 0 would
//         switch the sampler off for good); u = 1 can, and gives K = 0.
//   -ln   lies in [0, 53 ln 2] = [0, 36.74]: +0 or -0 at u = 1, else positive.
//   /     lambda > 0 always. T = 1: lambda = +inf, and finite / inf = 0, so K = 0
//         and every byte is a success; 0 / 0 and inf / inf cannot arise. Up to
//         T = 2^40 the quotient stays below 2^46, where doubles have 7 bits and
//         more to spare below 1, and floor is the truncation of the conversion.
//   cast  From T about 2^58.8 the quotient may pass 2^64, where the conversion is
//         undefined. 2^64 - 1 then means: never in this process. Written as
//         "not below", so that a NaN (a lambda that rate_of cannot return)
//         switches sampling off instead of being undefined.
GEIGER_SAMPLING_INLINE std::uint64_t skip_count_of(std::uint64_t random_bits, double lambda) {
  const double u = static_cast<double>((random_bits >> 11) + 1) * 0x1p-53;
  const double quotient = -natural_log(u) / lambda;
  if (!(quotient < 0x1p64)) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(quotient);
}

}  // namespace geiger::sampling
