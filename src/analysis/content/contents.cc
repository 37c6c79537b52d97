#include "analysis/content/contents.h"

namespace geiger::content {

/// Those of a face lie in order of sizes.
std::uint32_t Contents::add(const Face& face, Bytes size, std::uint64_t hash) {
  const auto [first, is_new] = first_.try_emplace(face, kNone);
  std::uint32_t before = kNone, at = first->second;
  for (; at != kNone && contents_[at].size <= size; before = at, at = contents_[at].next) {
    if (contents_[at].size == size && contents_[at].hash == hash) return at;
  }
  const auto number = static_cast<std::uint32_t>(contents_.size());
  contents_.push_back({size, hash, at});
  (before == kNone ? first.value() : contents_[before].next) = number;
  const std::uint64_t bit = bit_of(face);
  filter_[bit / 64] |= std::uint64_t{1} << bit % 64;
  return number;
}

}  // namespace geiger::content
