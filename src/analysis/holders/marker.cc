#include "analysis/holders/marker.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace geiger::holders {

namespace {

/// Of blocks that are read together.
constexpr std::size_t kMostInBatch = 1024;
constexpr Bytes kBatch = kMiB;
/// Bytes that take as long as a block.
constexpr Bytes kWorth = 4 * kKiB;
/// Blocks beyond it are read in parts.
constexpr Bytes kLarge = 256 * kKiB;

}  // namespace

Marker::Marker(const BlockMap& blocks, Memory& memory, MarkingRules rules,
               std::function<bool()> may_go_on)
    : blocks_(blocks),
      memory_(memory),
      rules_(rules),
      may_go_on_(std::move(may_go_on)),
      labels_(blocks.blocks()),
      parents_(blocks.blocks(), 0),
      waiting_((std::size_t{blocks.blocks()} + 63) / 64, 0) {}

void Marker::root_slow(Address address, Address at, Holds holds, RootGroup group) {
  const auto block = blocks_.block_at(address);
  if (!block) return;
  const auto parent = kIsRoot | static_cast<std::uint32_t>(roots_.size());
  if (visit(*block, parent, label_of(group, holds))) roots_.push_back(at);
}

bool Marker::visit(const BlockMap::Block& block, std::uint32_t parent, Label label) {
  if (block.is_free) return false;
  const Label known = labels_.get(block.number);
  const bool is_better = known == kNone || (known & kOnStack) > (label & kOnStack);
  if (is_better) {
    labels_.set(block.number, label);
    parents_[block.number] = parent;
  } else {
    const bool is_settled = known == label || (known & kSeveral) != 0;
    if (is_settled || (known & kOnStack) < (label & kOnStack)) return false;
    labels_.set(block.number, static_cast<Label>(known | kSeveral));
  }
  queue(block);
  return is_better;
}

void Marker::queue(const BlockMap::Block& block) {
  if (queue_.size() < kMostQueued) {
    queue_.push_back({block.start, block.number});
    return;
  }
  waiting_[block.number / 64] |= std::uint64_t{1} << block.number % 64;
  has_waiting_ = true;
}

bool Marker::refill() {
  if (!has_waiting_) return false;
  has_waiting_ = false;
  for (std::size_t word = 0; word < waiting_.size(); ++word) {
    while (waiting_[word] != 0) {
      if (queue_.size() >= kMostQueued) {
        has_waiting_ = true;
        return true;
      }
      const auto bit = static_cast<unsigned>(std::countr_zero(waiting_[word]));
      waiting_[word] &= waiting_[word] - 1;
      const auto number = static_cast<std::uint32_t>(word * 64 + bit);
      queue_.push_back({blocks_.start_of(number), number});
    }
  }
  return !queue_.empty();
}

bool Marker::run() {
  std::size_t blocks = kMostInBatch;  // Since it was asked: of a long list a batch is one block.
  while (!queue_.empty() || refill()) {
    if (blocks >= kMostInBatch) {
      if (!may_go_on_()) return false;
      blocks = 0;
    }
    blocks += scan_batch();
  }
  return true;
}

std::size_t Marker::scan_batch() {
  const auto count = static_cast<std::ptrdiff_t>(std::min(queue_.size(), kMostInBatch));
  batch_.assign(queue_.begin(), queue_.begin() + count);
  queue_.erase(queue_.begin(), queue_.begin() + count);
  std::ranges::sort(batch_, {}, &Queued::start);
  std::size_t work = batch_.size();
  Bytes total = 0;
  for (const auto& [begin, number] : batch_) {
    const Area& area = *blocks_.area_of(begin);
    const Address start = std::max(area.span().start, begin - rules_.window);
    const Bytes bytes = area.end_of(begin) - start;
    work += bytes / kWorth;
    if (bytes > kLarge) {
      scan_large(number, start, start + bytes);
      continue;
    }
    if (total + bytes > kBatch) scan_pieces(std::exchange(total, 0));
    pieces_.push_back({start, bytes});
    owners_.push_back(number);
    total += bytes;
  }
  scan_pieces(total);
  return work;
}

void Marker::scan_pieces(Bytes total) {
  buffer_.resize(std::max<std::size_t>(buffer_.size(), total));
  memory_.read(pieces_, buffer_.data());
  const std::byte* at = buffer_.data();
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    scan(owners_[i], pieces_[i].start, at, pieces_[i].bytes);
    at += pieces_[i].bytes;
  }
  pieces_.clear();
  owners_.clear();
}

void Marker::scan(std::uint32_t from, Address start, const std::byte* bytes, Bytes size) {
  const Label label = labels_.get(from);
  const Area* links = blocks_.area_of(start);
  if (!links->has_links()) links = nullptr;
  for (Bytes at = 0; at + 8 <= size; at += rules_.step) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, 8);
    const Address address = word & kAddressBits;
    if (blocks_.area_of(address) == nullptr) continue;
    if (links != nullptr && links->is_link((start + at) / kGrain * kGrain)) continue;
    const auto block = blocks_.block_at(address);
    if (block && block->number != from) visit(*block, from, label);
  }
}

void Marker::scan_large(std::uint32_t from, Address start, Address end) {
  buffer_.resize(std::max<std::size_t>(buffer_.size(), kLarge));
  for (Address at = start; at < end; at += kLarge) {
    const Piece piece{at, std::min(kLarge, end - at)};
    memory_.read({&piece, 1}, buffer_.data());
    scan(from, at, buffer_.data(), piece.bytes);
  }
}

Parent Marker::parent_of(std::uint32_t block) const {
  const std::uint32_t parent = parents_[block];
  if ((parent & kIsRoot) != 0) return {true, 0, roots_[parent & ~kIsRoot]};
  return {false, parent, 0};
}

}  // namespace geiger::holders
