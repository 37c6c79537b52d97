#include "analysis/content/contents.h"

#include <algorithm>

namespace geiger::content {

std::uint32_t Contents::add(const Face& face, Bytes size, std::uint64_t hash) {
  const auto [number, is_new] =
      numbers_.try_emplace({face, hash}, static_cast<std::uint32_t>(copies_.size()));
  if (!is_new) return number->second;
  copies_.push_back(0);
  std::vector<Bytes>& sizes = sizes_[face];
  if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
  expect(face.first);
  return number->second;
}

}  // namespace geiger::content
