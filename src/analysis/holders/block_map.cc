#include "analysis/holders/block_map.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace geiger::holders {

Area::Area(Span span)
    : span_{span.start / kGrain * kGrain, (span.end + kGrain - 1) / kGrain * kGrain} {
  const std::size_t words = (grain_of(span_.end) + 63) / 64;
  starts_.resize(words);
  free_.resize(words);
}

void Area::remove_all(Address start, Address end) {
  for (Address at = start; at < end; at += kGrain) {
    const std::size_t grain = grain_of(at);
    const bool is_word = grain % 64 == 0 && end - at >= 64 * kGrain;
    if (!is_word) {
      remove(at);
      continue;
    }
    starts_[grain / 64] = 0;
    at += 63 * kGrain;
  }
}

Address Area::start_of(Address address) const {
  const std::size_t grain = grain_of(address);
  std::size_t word = grain / 64;
  std::uint64_t bits = starts_[word] & ~std::uint64_t{0} >> (63 - grain % 64);
  constexpr int kNear = 16;
  for (int i = 0; bits == 0 && i < kNear && word > 0; ++i) bits = starts_[--word];
  if (bits == 0) return before_[word] == 0 ? 0 : start_of_number(first_ + before_[word] - 1);
  return address_of(word, 63 - static_cast<unsigned>(std::countl_zero(bits)));
}

Address Area::end_of(Address start) const {
  const std::size_t grain = grain_of(start) + 1;
  std::size_t word = grain / 64;
  if (word >= starts_.size()) return span_.end;
  std::uint64_t bits = starts_[word] & ~std::uint64_t{0} << grain % 64;
  while (bits == 0) {
    if (++word >= starts_.size()) return span_.end;
    bits = starts_[word];
  }
  return std::min(span_.end, address_of(word, static_cast<unsigned>(std::countr_zero(bits))));
}

std::uint32_t Area::index(std::uint32_t first) {
  first_ = first;
  before_.resize(starts_.size());
  count_ = 0;
  for (std::size_t word = 0; word < starts_.size(); ++word) {
    before_[word] = count_;
    count_ += static_cast<std::uint32_t>(std::popcount(starts_[word]));
  }
  return first + count_;
}

void Area::finish() {
  Bits by_number((std::size_t{count_} + 63) / 64);
  std::uint32_t number = 0;
  for (std::size_t word = 0; word < starts_.size(); ++word) {
    for (std::uint64_t bits = starts_[word]; bits != 0; bits &= bits - 1, ++number) {
      const std::uint64_t is_free = free_[word] >> std::countr_zero(bits) & 1;
      by_number[number / 64] |= is_free << number % 64;
    }
  }
  free_ = std::move(by_number);
  is_finished_ = true;
}

std::uint32_t Area::number_of(Address start) const {
  const std::size_t grain = grain_of(start);
  const std::uint64_t below = (std::uint64_t{1} << grain % 64) - 1;
  const auto in_word = static_cast<std::uint32_t>(std::popcount(starts_[grain / 64] & below));
  return first_ + before_[grain / 64] + in_word;
}

Address Area::start_of_number(std::uint32_t number) const {
  const std::uint32_t wanted = number - first_;
  const auto after = std::ranges::upper_bound(before_, wanted);
  const auto word = static_cast<std::size_t>(after - before_.begin()) - 1;
  std::uint64_t bits = starts_[word];
  for (std::uint32_t left = wanted - before_[word]; left > 0; --left) bits &= bits - 1;
  return address_of(word, static_cast<unsigned>(std::countr_zero(bits)));
}

Area& BlockMap::add(Span span) { return areas_.emplace_back(span); }

void BlockMap::index() {
  std::ranges::sort(areas_, {}, [](const Area& area) { return area.span().start; });
  all_ = areas_.empty() ? Span{} : Span{areas_.front().span().start, areas_.back().span().end};
  last_ = 0;
  blocks_ = 0;
  for (Area& area : areas_) blocks_ = area.index(blocks_);
}

Area* BlockMap::area_of(Address address) {
  if (!all_.holds(address)) return nullptr;
  if (areas_[last_].span().holds(address)) return &areas_[last_];
  const auto after = std::ranges::upper_bound(areas_, address, {},
                                              [](const Area& area) { return area.span().start; });
  if (after == areas_.begin() || !std::prev(after)->span().holds(address)) return nullptr;
  last_ = static_cast<std::size_t>(std::prev(after) - areas_.begin());
  return &areas_[last_];
}

void BlockMap::finish() {
  for (Area& area : areas_) area.finish();
}

std::optional<BlockMap::Block> BlockMap::block_at(Address address) const {
  const Area* area = area_of(address);
  const Address start = area == nullptr ? 0 : area->start_of(address);
  if (start == 0) return std::nullopt;
  const std::uint32_t number = area->number_of(start);
  return Block{start, number, area->is_free(start, number)};
}

Address BlockMap::start_of(std::uint32_t number) const {
  const auto after = std::ranges::upper_bound(areas_, number, {}, &Area::first);
  return std::prev(after)->start_of_number(number);
}

}  // namespace geiger::holders
