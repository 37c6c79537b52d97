// Hashing for tables whose keys come from files.
#pragma once

#include <cstddef>
#include <cstdint>

namespace geiger::profile {

/// Mixes a value into a hash so that every input bit moves every output bit. The
/// same on every machine.
[[nodiscard]] constexpr std::uint64_t spread(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t x = hash + value;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  return x ^ x >> 32;
}

/// Where the hashes of tables start: drawn once per run, so that no file can be
/// made whose keys all fall into one bucket (open tables then grow without end).
/// Nothing that is printed may depend on it, nor on the order of such a table.
[[nodiscard]] std::uint64_t table_seed();

/// Hash of integer keys. std::hash returns them as they are, which degenerates
/// in tables sized by powers of two.
struct SpreadHash {
  [[nodiscard]] std::size_t operator()(std::uint64_t key) const {
    return spread(table_seed(), key);
  }
};

}  // namespace geiger::profile
