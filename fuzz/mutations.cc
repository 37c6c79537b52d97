#include "mutations.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace geiger::fuzz {
namespace {

/// 8 to 512 bytes from anywhere, or as many zeros.
std::string some_block(const std::string& bytes, std::mt19937_64& random) {
  const std::uint64_t size = std::min<std::uint64_t>(8 << random() % 7, bytes.size());
  if (random() % 4 == 0) return std::string(size, '\0');
  return bytes.substr(random() % (bytes.size() - size + 1) / 8 * 8, size);
}

}  // namespace

void flip_bits(std::string& bytes, std::uint64_t first, std::uint64_t last,
               std::mt19937_64& random) {
  if (first >= last) return;
  for (std::uint64_t count = 1 + random() % 16; count > 0; --count) {
    char& byte = bytes[first + random() % (last - first)];
    byte = static_cast<char>(byte ^ (1 << random() % 8));
  }
}

void write_hostile_word(std::string& bytes, std::uint64_t at, std::mt19937_64& random) {
  constexpr std::array<std::uint64_t, 8> kHostile{
      0, 1, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, ~std::uint64_t{0}, 0xffff, 4096};
  std::uint64_t word = kHostile[random() % kHostile.size()];
  if (random() % 3 == 0) word = std::uint64_t{1} << random() % 64;
  if (random() % 3 == 0) word += random() % 17 - 8;
  const std::size_t width = std::size_t{1} << random() % 4;
  if (at >= bytes.size()) return;
  std::memcpy(&bytes[at], &word, std::min<std::uint64_t>(width, bytes.size() - at));
}

void copy_block(std::string& bytes, std::uint64_t at, std::mt19937_64& random) {
  const std::string block = some_block(bytes, random);
  const std::uint64_t to = at / 8 * 8;
  bytes.replace(to, std::min<std::uint64_t>(block.size(), bytes.size() - to), block);
}

void insert_block(std::string& bytes, std::uint64_t at, std::mt19937_64& random) {
  bytes.insert(at / 8 * 8, some_block(bytes, random));
}

}  // namespace geiger::fuzz
