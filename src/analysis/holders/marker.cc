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
               std::function<bool()> may_go_on, std::function<bool(RootGroup, RootGroup)> are_one,
               LateAt late_at)
    : blocks_(blocks),
      memory_(memory),
      rules_(rules),
      may_go_on_(std::move(may_go_on)),
      are_one_(std::move(are_one)),
      labels_(blocks.blocks()),
      parents_(blocks.blocks(), 0),
      since_asked_(kMostInBatch),
      late_at_(std::move(late_at)) {}

void Marker::root_slow(Address address, Address at, Holds holds, RootGroup group) {
  const auto block = blocks_.block_at(address);
  if (!block) return;
  const auto parent = kIsRoot | static_cast<std::uint32_t>(roots_.size());
  if (visit(*block, address, parent, label_of(group, holds))) roots_.push_back(at);
}

bool Marker::visit(const BlockMap::Block& block, Address target, std::uint32_t parent,
                   Label label) {
  if (block.is_free) {
    if (late_at_) late_.push_back({target, {block.start, blocks_.end_of(block)}, parent, label});
    return bool(late_at_);
  }
  const Label known = labels_.get(block.number);
  const Label next = joined(known, label);
  if (next == known) return false;
  labels_.set(block.number, next);
  next_.add({block.start, block.number}, labels_.size());
  if (!is_better(known, label)) {
    count_beside(known, label);
    return false;
  }
  parents_[block.number] = parent;
  return true;
}

Marker::Label Marker::joined(Label known, Label label) const {
  if (is_better(known, label)) return label;
  const bool is_settled = known == label || (known & kSeveral) != 0;
  if (is_settled || (known & kOnStack) < (label & kOnStack)) return known;
  const bool are_several = (label & kSeveral) != 0 || !are_one_(group_in(known), group_in(label));
  return are_several ? static_cast<Label>(known | kSeveral) : known;
}

void Marker::Level::add(const Queued& block, std::size_t blocks) {
  constexpr std::size_t kFew = 65'536;
  if (!are_many && few.size() < kFew) return few.push_back(block);
  const auto set = [this](std::uint32_t number) {
    many[number / 64] |= std::uint64_t{1} << number % 64;
  };
  if (!are_many) {
    many.resize((blocks + 63) / 64);
    for (const Queued& one : few) set(one.number);
    few.clear();
    are_many = true;
  }
  set(block.number);
}

// Level by level, so that chains are shortest ones. Each in order of addresses: neighbours are read
// together, which takes a fraction of the time.
bool Marker::run() {
  do {
    while (!next_.is_empty()) {
      std::swap(level_, next_);
      if (!follow(level_)) return false;
    }
    if (!follow_late()) return false;
  } while (!next_.is_empty() || !late_.empty());
  return true;
}

// A list that grows at its head begins with such a block in most scans.
bool Marker::follow_late() {
  std::vector<Late> late;
  std::swap(late, late_);
  std::ranges::sort(late, {}, &Late::target);
  for (const Late& pointer : late) {
    if (++since_asked_ >= kMostInBatch) {
      if (!may_go_on_()) return false;
      since_asked_ = 0;
    }
    const auto block = late_at_(pointer.target, pointer.free);
    if (!block) continue;
    Label& label = late_labels_[block->start];
    const Label next = joined(label, pointer.label);
    if (next == label) continue;
    label = next;
    scan_late(*block, pointer.parent, next);
  }
  return true;
}

void Marker::scan_late(const Span& block, std::uint32_t parent, Label label) {
  buffer_.resize(std::max<std::size_t>(buffer_.size(), kLarge));
  for (Address at = block.start; at < block.end; at += kLarge) {
    const Piece piece{at, std::min(kLarge, block.end - at)};
    memory_.read_now(piece, buffer_.data());
    for (Bytes offset = 0; offset + 8 <= piece.bytes; offset += rules_.step) {
      std::uint64_t word = 0;
      std::memcpy(&word, buffer_.data() + offset, 8);
      const Address target = word & kAddressBits;
      const auto found = blocks_.block_at(target);
      if (found) visit(*found, target, parent, label);
    }
  }
}

bool Marker::follow(Level& level) {
  const auto add = [this](const Queued& block) {
    batch_.push_back(block);
    return batch_.size() < kMostInBatch || follow_batch();
  };
  bool goes_on = true;
  std::ranges::sort(level.few, {}, &Queued::start);
  for (const Queued& block : level.few) goes_on = goes_on && add(block);
  level.few.clear();
  for (std::size_t word = 0; level.are_many && word < level.many.size(); ++word) {
    for (std::uint64_t bits = std::exchange(level.many[word], 0); bits != 0; bits &= bits - 1) {
      const auto number =
          static_cast<std::uint32_t>(word * 64) + static_cast<unsigned>(std::countr_zero(bits));
      goes_on = goes_on && add({blocks_.start_of(number), number});
    }
  }
  level.are_many = false;
  return goes_on && follow_batch();
}

bool Marker::follow_batch() {
  if (since_asked_ >= kMostInBatch) {
    if (!may_go_on_()) return false;
    since_asked_ = 0;
  }
  since_asked_ += batch_.size();
  Bytes total = 0;
  for (const auto& [begin, number] : batch_) {
    const Area& area = *blocks_.area_of(begin);
    const Address start = std::max(area.span().start, begin - rules_.window);
    const Bytes bytes = area.end_of(begin) - start;
    since_asked_ += bytes / kWorth;
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
  batch_.clear();
  return true;
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
    if (block && block->number != from) visit(*block, address, from, label);
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

void Marker::begin_groups() {
  for (std::uint32_t block = 0; block < parents_.size(); ++block) {
    if (!is_reached(block)) parents_[block] = block;
  }
}

std::uint32_t Marker::group_of_unreached(std::uint32_t block) {
  for (; parents_[block] != block; block = parents_[block]) {
    parents_[block] = parents_[parents_[block]];
  }
  return block;
}

std::optional<RootGroup> Marker::group_beside(RootGroup group) const {
  std::optional<RootGroup> found;
  std::uint64_t most = 0;
  for (const auto& [groups, blocks] : beside_) {
    const auto other = static_cast<RootGroup>(groups & 0xffff);
    const bool is_more = blocks > most || (blocks == most && found && other < *found);
    if (groups >> 16 != group || other == group || !is_more) continue;
    found = other;
    most = blocks;
  }
  return found;
}

Parent Marker::parent_of(std::uint32_t block) const {
  const std::uint32_t parent = parents_[block];
  if ((parent & kIsRoot) != 0) return {true, 0, roots_[parent & ~kIsRoot]};
  return {false, parent, 0};
}

}  // namespace geiger::holders
