#include "analysis/content/bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

namespace geiger::content {
namespace {

std::vector<std::byte> some_bytes(std::size_t size, double share_of_zero) {
  std::mt19937_64 random(size);
  std::bernoulli_distribution is_zero(share_of_zero);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes)
    byte = is_zero(random) ? std::byte{0} : std::byte(1 + random() % 255);
  return bytes;
}

TEST(Bytes, ZeroOnesAreCounted) {
  for (const std::size_t size : {0, 1, 15, 16, 17, 255 * 16, 255 * 16 + 1, 10'000}) {
    for (const double share : {0.0, 0.3, 1.0}) {
      const auto bytes = some_bytes(size, share);
      const auto zero = std::ranges::count(bytes, std::byte{0});
      EXPECT_EQ(zero_bytes(bytes), static_cast<Bytes>(zero)) << size;
    }
  }
}

std::uint64_t hash_in_parts(std::span<const std::byte> bytes, std::size_t part) {
  Hash hash;
  for (; bytes.size() > part; bytes = bytes.subspan(part)) hash.add(bytes.first(part));
  hash.add(bytes);
  return hash.value();
}

TEST(Bytes, HashOfPartsIsThatOfTheWhole) {
  const auto bytes = some_bytes(1001, 0.1);
  EXPECT_EQ(hash_in_parts(bytes, 8), hash_in_parts(bytes, 2000));
  EXPECT_EQ(hash_in_parts(bytes, 504), hash_in_parts(bytes, 2000));
}

TEST(Bytes, EveryByteAndTheSizeCount) {
  auto bytes = some_bytes(100, 0.1);
  const std::uint64_t hash = hash_in_parts(bytes, 200);
  for (std::byte& byte : bytes) {
    byte ^= std::byte{1};
    EXPECT_NE(hash_in_parts(bytes, 200), hash);
    byte ^= std::byte{1};
  }
  EXPECT_EQ(hash_in_parts(bytes, 200), hash);
  bytes.push_back(std::byte{0});
  EXPECT_NE(hash_in_parts(bytes, 200), hash);
}

}  // namespace
}  // namespace geiger::content
