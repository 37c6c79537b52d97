// Bytes of objects: how many are zero, and whether two ranges are equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "analysis/profile/recording/recording.h"
#include "base/units.h"

namespace geiger::content {

/// How many of the bytes are zero.
[[nodiscard]] Bytes zero_bytes(std::span<const std::byte> bytes);

/// The hash of a range that comes in parts. Two different ranges have the same one with a chance of
/// 2^-64; it differs from run to run, and is never stored.
class Hash {
 public:
  /// All parts but the last have a multiple of 8 bytes.
  void add(std::span<const std::byte> part);
  [[nodiscard]] std::uint64_t value() const;

 private:
  std::uint64_t state_ = profile::table_seed();
  Bytes size_ = 0;
};

}  // namespace geiger::content
