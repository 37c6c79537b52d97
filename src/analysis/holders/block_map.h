// Where the blocks of a heap begin, whose they are, and what was found about each, in little
// memory.
//
// Per 16 bytes of heap a bit says that a block begins there; per KiB the number of blocks before it
// makes neighbours and ranks quick to find. Per block a bit says that it is free, and there are a
// label and a parent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"

namespace geiger::holders {

/// A stretch of addresses.
struct Span {
  Address start = 0, end = 0;

  [[nodiscard]] bool holds(Address address) const { return start <= address && address < end; }
};

/// Blocks begin at multiples of it: no 64-bit allocator places them closer.
inline constexpr Bytes kGrain = 16;

/// A stretch of memory that an allocator divides into blocks. What precedes its first block belongs
/// to none.
class Area {
 public:
  /// `span` is widened to whole grains.
  explicit Area(Span span);

  [[nodiscard]] const Span& span() const { return span_; }

  /// A block begins at `address`, and ends where the next one begins. Once for each, in any order.
  void add(Address address) { set(starts_, address); }
  void remove(Address address) { clear(starts_, address); }
  /// Removes all that begin in [start, end).
  void remove_all(Address start, Address end);
  [[nodiscard]] bool is_start(Address address) const { return get(starts_, address); }

  /// Free blocks hold nothing, and nothing holds them. Not after finish().
  void set_free(Address start) { set(free_, start); }
  [[nodiscard]] bool is_free(Address start) const {
    return is_free(start, is_finished_ ? number_of(start) : 0);
  }
  /// The block that begins at `start` and has this number.
  [[nodiscard]] bool is_free(Address start, std::uint32_t number) const {
    if (!is_finished_) return get(free_, start);
    const std::uint32_t own = number - first_;
    return (free_[own / 64] >> own % 64 & 1) != 0;
  }

  /// The 16 bytes at `address` hold nothing: links of a collector's list, or stale members.
  void set_link(Address address) {
    links_.resize(starts_.size());
    set(links_, address);
  }
  [[nodiscard]] bool is_link(Address address) const {
    return !links_.empty() && get(links_, address);
  }
  [[nodiscard]] bool has_links() const { return !links_.empty(); }

  /// Where the block at `address` begins; 0: before the first. index() first.
  [[nodiscard]] Address start_of(Address address) const;
  /// Where the block that begins at `start` ends.
  [[nodiscard]] Address end_of(Address start) const;

  /// Numbers the blocks from `first` on; returns the next number.
  std::uint32_t index(std::uint32_t first);
  /// Keeps what is free by number, in an eighth of the memory for blocks of 128 bytes. After
  /// index().
  void finish();
  [[nodiscard]] std::uint32_t first() const { return first_; }
  /// The number of the block that begins at `start`. index() first.
  [[nodiscard]] std::uint32_t number_of(Address start) const;
  /// Where the block with this number begins, which must be of this area.
  [[nodiscard]] Address start_of_number(std::uint32_t number) const;

 private:
  using Bits = std::vector<std::uint64_t>;

  [[nodiscard]] std::size_t grain_of(Address address) const {
    return static_cast<std::size_t>((address - span_.start) / kGrain);
  }
  void set(Bits& bits, Address address) {
    const std::size_t grain = grain_of(address);
    bits[grain / 64] |= std::uint64_t{1} << grain % 64;
  }
  void clear(Bits& bits, Address address) {
    const std::size_t grain = grain_of(address);
    bits[grain / 64] &= ~(std::uint64_t{1} << grain % 64);
  }
  [[nodiscard]] bool get(const Bits& bits, Address address) const {
    const std::size_t grain = grain_of(address);
    return (bits[grain / 64] >> grain % 64 & 1) != 0;
  }
  [[nodiscard]] Address address_of(std::size_t word, unsigned bit) const {
    return span_.start + (word * 64 + bit) * kGrain;
  }

  Span span_;
  Bits starts_;
  Bits free_;   ///< By grain; after finish() by own number.
  Bits links_;  ///< Empty: none.
  bool is_finished_ = false;
  std::uint32_t first_ = 0, count_ = 0;
  std::vector<std::uint32_t> before_;  ///< By word: blocks of the area before it.
};

/// The areas of a process.
class BlockMap {
 public:
  static constexpr std::uint32_t kNoBlock = 0xffffffff;

  /// The areas must not overlap. In any order until index().
  Area& add(Span span);
  /// Sorts the areas and numbers the blocks. From here on no block may be added.
  void index();
  /// From here on no block may be set free.
  void finish();

  [[nodiscard]] std::uint32_t blocks() const { return blocks_; }
  [[nodiscard]] const std::vector<Area>& areas() const { return areas_; }
  [[nodiscard]] std::vector<Area>& areas() { return areas_; }
  /// The area of an address, or null. Quick if it is that of the call before. index() first.
  [[nodiscard]] const Area* area_of(Address address) const {
    return const_cast<BlockMap*>(this)->area_of(address);
  }
  [[nodiscard]] Area* area_of(Address address);

  struct Block {
    Address start = 0;
    std::uint32_t number = kNoBlock;
    bool is_free = false;
  };
  /// The block that an address lies in.
  [[nodiscard]] std::optional<Block> block_at(Address address) const;
  [[nodiscard]] Address end_of(const Block& block) const {
    return area_of(block.start)->end_of(block.start);
  }
  [[nodiscard]] Address start_of(std::uint32_t number) const;

 private:
  std::vector<Area> areas_;
  Span all_;
  mutable std::size_t last_ = 0;
  std::uint32_t blocks_ = 0;
};

}  // namespace geiger::holders
