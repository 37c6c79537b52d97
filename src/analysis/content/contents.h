// The contents of samples, and how many blocks have each.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace geiger::content {

/// What tells most blocks apart without reading all of them.
struct Face {
  std::uint64_t first = 0;   ///< The first eight bytes.
  std::uint64_t extent = 0;  ///< Bytes of the block, or what takes their place.
  friend bool operator==(const Face&, const Face&) = default;
};

/// Contents by number. A Bloom filter of 512 KiB comes before them: most blocks of a heap begin
/// like no sample.
class Contents {
 public:
  Contents() : filter_(std::size_t{1} << (kFilterBits - 6)) {}

  /// Contents that begin with this word will be added.
  void expect(std::uint64_t first) { filter_[bit_of(first) / 64] |= mask_of(first); }
  /// False: none of those that were expected.
  [[nodiscard]] bool may_begin(std::uint64_t first) const {
    return (filter_[bit_of(first) / 64] & mask_of(first)) != 0;
  }

  /// The number of the content of `size` bytes with this hash; the same for equal ones.
  std::uint32_t add(const Face& face, Bytes size, std::uint64_t hash);

  /// Counts a block. `hash_of(size)` is that of its first bytes, asked for once for each size of
  /// contents with its face.
  template <class HashOf>
  void count(const Face& face, const HashOf& hash_of) {
    if (!may_begin(face.first)) return;
    const auto sizes = sizes_.find(face);
    if (sizes == sizes_.end()) return;
    for (const Bytes size : sizes->second) {
      const auto number = numbers_.find({face, hash_of(size)});
      if (number != numbers_.end()) ++copies_[number->second];
    }
  }

  [[nodiscard]] std::uint32_t copies(std::uint32_t content) const { return copies_[content]; }

 private:
  static constexpr unsigned kFilterBits = 22;
  /// The hash of a content depends on its size too.
  struct Key {
    Face face;
    std::uint64_t hash = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Mixed {
    std::size_t operator()(const Face& face) const {
      constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
      const std::uint64_t mix = (face.first ^ face.extent * kOdd) * kOdd;
      return mix ^ mix >> 32;
    }
    std::size_t operator()(const Key& key) const { return (*this)(key.face) ^ key.hash; }
  };

  [[nodiscard]] static std::uint64_t bit_of(std::uint64_t first) {
    return Mixed()(Face{first, 0}) & ((std::uint64_t{1} << kFilterBits) - 1);
  }
  [[nodiscard]] static std::uint64_t mask_of(std::uint64_t first) {
    return std::uint64_t{1} << bit_of(first) % 64;
  }

  std::vector<std::uint64_t> filter_;
  tsl::robin_map<Face, std::vector<Bytes>, Mixed> sizes_;  ///< Of the contents with a face.
  tsl::robin_map<Key, std::uint32_t, Mixed> numbers_;
  std::vector<std::uint32_t> copies_;  ///< By content.
};

}  // namespace geiger::content
