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

  /// The number of the content of `size` bytes with this hash; the same for equal ones.
  std::uint32_t add(const Face& face, Bytes size, std::uint64_t hash);

  /// Counts a block. `hash_of(size)` is that of its first bytes, asked for once for each size of
  /// contents with its face.
  template <class HashOf>
  void count(const Face& face, const HashOf& hash_of);

  [[nodiscard]] std::uint32_t copies(std::uint32_t content) const {
    return contents_[content].copies;
  }
  [[nodiscard]] bool is_empty() const { return contents_.empty(); }

 private:
  static constexpr unsigned kFilterBits = 22;
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Content {
    Bytes size = 0;
    std::uint64_t hash = 0;
    std::uint32_t next = kNone;  ///< With the same face.
    std::uint32_t copies = 0;
  };
  struct FaceHash {
    std::size_t operator()(const Face& face) const { return mixed(face); }
  };

  [[nodiscard]] static std::uint64_t mixed(const Face& face) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    const std::uint64_t mix = (face.first ^ face.extent * kOdd) * kOdd;
    return mix ^ mix >> 32;
  }
  [[nodiscard]] std::uint64_t bit_of(const Face& face) const {
    return mixed(face) & ((std::uint64_t{1} << kFilterBits) - 1);
  }

  std::vector<std::uint64_t> filter_;
  tsl::robin_map<Face, std::uint32_t, FaceHash> first_;
  std::vector<Content> contents_;
};

template <class HashOf>
void Contents::count(const Face& face, const HashOf& hash_of) {
  const std::uint64_t bit = bit_of(face);
  if ((filter_[bit / 64] >> bit % 64 & 1) == 0) return;
  const auto first = first_.find(face);
  if (first == first_.end()) return;
  Bytes size = 0;
  std::uint64_t hash = 0;
  for (std::uint32_t i = first->second; i != kNone; i = contents_[i].next) {
    Content& content = contents_[i];
    if (content.size != size) hash = hash_of(content.size);
    size = content.size;
    if (content.hash == hash && content.copies + 1 != kNone) ++content.copies;
  }
}

}  // namespace geiger::content
