#include "sampling/counter_sampler.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "sampling/logarithm.h"

namespace geiger::sampling {

// Lives in thread-local storage of initial-exec TLS: no construction, no
// destruction, few bytes.
static_assert(std::is_trivially_copyable_v<CounterSampler>);
static_assert(std::is_trivially_destructible_v<CounterSampler>);
static_assert(sizeof(CounterSampler) <= 64);

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
std::uint64_t skip_count_of(std::uint64_t random_bits, double lambda) {
  const double u = static_cast<double>((random_bits >> 11) + 1) * 0x1p-53;
  const double quotient = -natural_log(u) / lambda;
  if (!(quotient < 0x1p64)) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(quotient);
}

void CounterSampler::start(std::uint64_t seed, std::uint64_t interval, double lambda, bool pure) {
  interval_ = interval;
  lambda_ = lambda;
  is_pure_ = pure;
  reseed(seed);
}

void CounterSampler::change_interval(std::uint64_t interval, double lambda) {
  interval_ = interval;
  lambda_ = lambda;
  redraw();
}

void CounterSampler::reseed(std::uint64_t seed) {
  generator_ = Xoshiro256pp(seed);
  redraw();
}

std::uint64_t CounterSampler::countdown() const {
  if (is_pure_ || !is_started()) return skip_count_;
  return std::min(skip_count_, interval_ - 1);
}

void CounterSampler::settle(std::uint64_t consumed) {
  skip_count_ -= std::min(consumed, countdown());
}

Verdict CounterSampler::trial(std::uint64_t size) {
  if (size == 0 || !is_started()) return {};
  if (size >= interval_ && !is_pure_) return {Verdict::Kind::kCertain, 0};
  if (size <= skip_count_) {
    skip_count_ -= size;
    return {};
  }
  const Verdict sampled{Verdict::Kind::kSampled, skip_count_};
  redraw();
  return sampled;
}

void CounterSampler::redraw() { skip_count_ = skip_count_of(generator_.next(), lambda_); }

}  // namespace geiger::sampling
