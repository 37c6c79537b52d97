// Which blocks a chain of pointers from a root reaches, through which, and whether from one group
// of roots alone.
//
// A word that points into a block, at any byte of it, holds the block. Pointers keep their meaning
// with tags in the 16 highest bits. Nothing of the heap is kept but a label and a parent for each
// block: edges are read when they are followed.
#pragma once

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analysis/holders/block_map.h"
#include "analysis/holders/memory.h"

namespace geiger::holders {

/// A set of root words that has one name: a global, a thread's stack, a mapping. From 0.
using RootGroup = std::uint16_t;
inline constexpr RootGroup kMostGroups = 16'000;

/// What a stack holds, it holds for a while, or only seems to: stacks keep words that are not in
/// use. So a block is a stack's only where nothing else reaches it.
enum class Holds : std::uint8_t { kFirmly, kForAWhile };

/// Where a block was first reached from.
struct Parent {
  bool is_root = false;
  std::uint32_t block = 0;  ///< If not a root.
  Address root = 0;         ///< Of the root's word.
};

struct MarkingRules {
  Bytes step = 8;    ///< Distance of the words that are looked at; 4 for packed structures.
  Bytes window = 0;  ///< Blocks may begin so much before where it seems: a multiple of the step.
};

class Marker {
 public:
  /// The block that is in use at an address now, in a block that was free.
  using LateAt = std::function<std::optional<Span>(Address, Span)>;

  /// `may_go_on` is asked now and then; if it says no, run() ends early. `are_one` says of two
  /// groups whether they count as one where only one may hold a block.
  Marker(const BlockMap& blocks, Memory& memory, MarkingRules rules,
         std::function<bool()> may_go_on,
         std::function<bool(RootGroup, RootGroup)> are_one = std::equal_to<>(),
         LateAt late_at = {});

  /// The word at `at` is a root. `group_of` is asked if it points into a block.
  template <class GroupOf>
  void root(std::uint64_t word, Address at, Holds holds, const GroupOf& group_of) {
    const std::uint64_t address = word & kAddressBits;
    if (blocks_.area_of(address) != nullptr) root_slow(address, at, holds, group_of(at));
  }

  /// Follows everything that the roots hold. False if it was ended early: what is not reached then
  /// may be reachable.
  [[nodiscard]] bool run();

  [[nodiscard]] bool is_reached(std::uint32_t block) const { return labels_.get(block) != kNone; }
  /// Whether only one group of roots reaches the block: without it, the block could be freed.
  /// Stacks do not count beside others.
  [[nodiscard]] bool is_alone(std::uint32_t block) const {
    return (labels_.get(block) & kSeveral) == 0;
  }
  /// Of a reached block: the group of the root that a shortest chain begins at, not on a stack if
  /// there is another.
  [[nodiscard]] RootGroup group_of(std::uint32_t block) const {
    return group_in(labels_.get(block));
  }
  /// The group by which most blocks of `group` turned out not to be held by that alone. Nothing:
  /// all are.
  [[nodiscard]] std::optional<RootGroup> group_beside(RootGroup group) const;
  /// Of a reached block: the last step of that chain.
  [[nodiscard]] Parent parent_of(std::uint32_t block) const;

  /// Unreached blocks form groups, of one each at first. After run().
  void begin_groups();
  /// Makes one of the groups of two unreached blocks, as one points to the other.
  void join(std::uint32_t block, std::uint32_t other) {
    parents_[group_of_unreached(block)] = group_of_unreached(other);
  }
  /// The same for all blocks of a group.
  [[nodiscard]] std::uint32_t group_of_unreached(std::uint32_t block);

 private:
  /// A group + 1, whether others reach the block too, and whether they are all stacks. A block's
  /// label changes four times at most, so it is followed as often at most.
  using Label = std::uint16_t;
  static constexpr Label kNone = 0, kLowGroup = 0x3f, kOnStack = 0x40, kSeveral = 0x80;
  static constexpr unsigned kHigh = 8, kLowGroupBits = 6;  ///< The group's other bits are above.

  [[nodiscard]] static Label label_of(RootGroup group, Holds holds) {
    const unsigned number = group + 1U;
    const unsigned on_stack = holds == Holds::kForAWhile ? kOnStack : 0;
    return static_cast<Label>((number >> kLowGroupBits << kHigh) | (number & kLowGroup) | on_stack);
  }

  [[nodiscard]] static RootGroup group_in(unsigned label) {
    return static_cast<RootGroup>((label >> kHigh << kLowGroupBits | (label & kLowGroup)) - 1);
  }

  /// By block. A byte each, as long as there are at most 62 groups.
  class Labels {
   public:
    explicit Labels(std::size_t blocks) : low_(blocks, 0) {}
    [[nodiscard]] std::size_t size() const { return low_.size(); }
    [[nodiscard]] Label get(std::uint32_t block) const {
      return static_cast<Label>(low_[block] | (high_.empty() ? 0 : high_[block] << kHigh));
    }
    void set(std::uint32_t block, Label label) {
      low_[block] = static_cast<std::uint8_t>(label);
      if (label >> kHigh != 0) high_.resize(low_.size(), 0);
      if (!high_.empty()) high_[block] = static_cast<std::uint8_t>(label >> kHigh);
    }

   private:
    std::vector<std::uint8_t> low_, high_;
  };

  static constexpr std::uint32_t kIsRoot = std::uint32_t{1} << 31;
  static constexpr std::uint64_t kAddressBits = (std::uint64_t{1} << 48) - 1;

  void root_slow(Address address, Address at, Holds holds, RootGroup group);
  /// `target` is in the block. True if `parent` is needed from now on.
  bool visit(const BlockMap::Block& block, Address target, std::uint32_t parent, Label label);
  /// A block with the first label is reached with the second one, too.
  void count_beside(Label known, Label label) {
    ++beside_[std::uint32_t{group_in(known)} << 16 | group_in(label)];
  }
  /// What a block is labelled that has a label, or kNone, and is reached with another one.
  [[nodiscard]] Label joined(Label known, Label label) const;
  [[nodiscard]] static bool is_better(Label known, Label label) {
    return known == kNone || (known & kOnStack) > (label & kOnStack);
  }
  /// A block to be followed.
  struct Queued {
    Address start = 0;
    std::uint32_t number = 0;
  };
  /// Blocks that are as many steps from the roots: few as a list, many as bits.
  struct Level {
    std::vector<Queued> few;
    std::vector<std::uint64_t> many;  ///< By block.
    bool are_many = false;

    void add(const Queued& block, std::size_t blocks);
    [[nodiscard]] bool is_empty() const { return few.empty() && !are_many; }
  };

  /// False if it was ended early.
  bool follow(Level& level);
  /// Follows the blocks of batch_, in order of addresses, and empties it.
  bool follow_batch();
  /// Reads pieces_, `total` bytes, and follows what is in them.
  void scan_pieces(Bytes total);
  void scan(std::uint32_t from, Address start, const std::byte* bytes, Bytes size);
  void scan_large(std::uint32_t from, Address start, Address end);
  /// Follows pointers to what was free. False if it was ended early.
  bool follow_late();
  void scan_late(const Span& block, std::uint32_t parent, Label label);

  const BlockMap& blocks_;
  Memory& memory_;
  MarkingRules rules_;
  std::function<bool()> may_go_on_;
  std::function<bool(RootGroup, RootGroup)> are_one_;
  Labels labels_;
  /// By block: another, or an index into roots_. Of one that is not reached: another of its group.
  std::vector<std::uint32_t> parents_;
  std::vector<Address> roots_;  ///< Words that were the first to reach a block.
  tsl::robin_map<std::uint32_t, std::uint64_t> beside_;  ///< Blocks by their group and another.
  Level level_, next_;
  std::vector<std::byte> buffer_;
  std::size_t since_asked_ = 0;  ///< Blocks since may_go_on_.
  std::vector<Queued> batch_;
  std::vector<Piece> pieces_;          ///< Of the batch.
  std::vector<std::uint32_t> owners_;  ///< Of each piece: its block.

  /// A pointer to what was free when the blocks were found, and the parent of what it holds.
  struct Late {
    Address target = 0;
    Span free;
    std::uint32_t parent = 0;
    Label label = kNone;
  };
  LateAt late_at_;
  std::vector<Late> late_;
  tsl::robin_map<Address, Label> late_labels_;  ///< By where a block begins.
};

}  // namespace geiger::holders
