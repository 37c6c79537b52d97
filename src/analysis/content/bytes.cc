#include "analysis/content/bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "analysis/profile/recording/recording.h"

namespace geiger::content {

Bytes zero_bytes(std::span<const std::byte> bytes) {
  constexpr std::size_t kLanes = 16, kMostSteps = 255;  // So many fit into a lane.
  using Lanes = std::uint8_t __attribute__((vector_size(kLanes)));
  Bytes zero = 0;
  while (bytes.size() >= kLanes) {
    const std::size_t steps = std::min(bytes.size() / kLanes, kMostSteps);
    Lanes found{};
    for (std::size_t i = 0; i < steps; ++i) {
      Lanes lanes{};
      std::memcpy(&lanes, bytes.data() + i * kLanes, kLanes);
      found -= static_cast<Lanes>(lanes == 0);
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) zero += found[lane];
    bytes = bytes.subspan(steps * kLanes);
  }
  return zero + static_cast<Bytes>(std::ranges::count(bytes, std::byte{0}));
}

void Hash::add(std::span<const std::byte> part) {
  constexpr std::uint64_t kOdd = 0x9fb21c651e98df25;
  constexpr int kTurn = 31;
  size_ += part.size();
  const std::uint64_t seed = profile::table_seed();
  while (!part.empty()) {
    std::uint64_t word = 0;
    const std::size_t bytes = std::min(part.size(), sizeof word);
    std::memcpy(&word, part.data(), bytes);
    state_ = std::rotl((state_ ^ word ^ seed) * kOdd, kTurn);
    part = part.subspan(bytes);
  }
}

std::uint64_t Hash::value() const { return profile::spread(state_, size_); }

}  // namespace geiger::content
