#include "analysis/profile/recording/hash.h"

#include <random>

namespace geiger::profile {

std::uint64_t table_seed() {
  static const std::uint64_t seed = [] {
    std::random_device source;
    return std::uint64_t{source()} << 32 | source();
  }();
  return seed;
}

}  // namespace geiger::profile
