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
  std::uint64_t state = state_, word = 0;
  const std::byte* at = part.data();
  for (const std::byte* end = at + part.size() / sizeof word * sizeof word; at < end;
       at += sizeof word) {
    std::memcpy(&word, at, sizeof word);
    state = std::rotl((state ^ word) * kOdd, kTurn);
  }
  if (const std::size_t rest = part.size() % sizeof word; rest > 0) {
    word = 0;
    std::memcpy(&word, at, rest);
    state = std::rotl((state ^ word) * kOdd, kTurn);
  }
  state_ = state;
}

std::uint64_t Hash::value() const { return profile::spread(state_, size_); }

}  // namespace geiger::content
