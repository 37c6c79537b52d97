// The call tree of all that a page shows, the table of its texts, and short names of its functions.
#pragma once

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/page/page_data.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::page {

// A table of texts: each text is stored once and has a number.

class Names {
 public:
  NameIndex intern(std::string_view text) {
    const auto found = known_.find(text);
    if (found != known_.end()) return found->second;
    const auto next = static_cast<NameIndex>(texts_.size());
    known_.emplace(texts_.emplace_back(text), next);
    return next;
  }

  [[nodiscard]] const std::string& operator[](NameIndex name) const {
    return texts_[static_cast<std::size_t>(name)];
  }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  ///< They do not move: the keys are views into them.
  std::unordered_map<std::string_view, NameIndex> known_;
};

/// The names of a larger set that a page uses, numbered in order of first use.
class UsedNames {
 public:
  explicit UsedNames(const Names& all) : all_(all), number_(all.size(), kNoName) {}

  NameIndex of(NameIndex name) {
    if (name == kNoName) return kNoName;
    NameIndex& number = number_[static_cast<std::size_t>(name)];
    if (number == kNoName) {
      number = static_cast<NameIndex>(used_.size());
      used_.push_back(name);
    }
    return number;
  }

  /// Those used so far, in the order of their numbers.
  [[nodiscard]] const std::vector<NameIndex>& used() const { return used_; }

  /// Their texts; those longer than `most` bytes are cut and marked as cut; `cut` counts them.
  [[nodiscard]] std::vector<std::string> texts(std::size_t most, std::uint64_t& cut) const;

 private:
  const Names& all_;
  std::vector<NameIndex> number_;
  std::vector<NameIndex> used_;
};

/// Longest name, path or sentence in the page, bytes.
inline constexpr std::size_t kMostTextBytes = 1000;

/// `text`, or its first `most` bytes with how many more there were: "void f<int, ... (+1,024
/// bytes)".
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

// The call tree of all that a page shows, root first; grows path by path.

/// A function of a module, or one line of it. Flags do not distinguish frames.
struct Frame {
  NameIndex name = kNoName, module = kNoName, file = kNoName;
  std::uint32_t line = 0;
  std::uint8_t flags = 0;

  bool operator==(const Frame& other) const {
    return name == other.name && module == other.module && file == other.file && line == other.line;
  }
};

class CallTree {
 public:
  static constexpr std::uint32_t kRoot = 0;

  explicit CallTree(Names& names);

  /// The number of a frame. `shown`: what it is shown as, if it is new.
  std::uint32_t frame(const Frame& key, const Frame& shown);
  /// A pseudo-frame: "[truncated]". `is_cut`: it stands for frames that are missing.
  std::uint32_t remark(std::string_view text, bool is_cut = true);
  /// The child of `parent` with this frame; made if there is none.
  std::uint32_t child(std::uint32_t parent, std::uint32_t frame);

  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t frame = 0;
  };
  /// A child comes after its parent.
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<Frame>& frames() const { return frames_; }

 private:
  struct FrameHash {
    std::size_t operator()(const Frame& frame) const;
  };

  Names& names_;
  std::vector<Frame> frames_;
  tsl::robin_map<Frame, std::uint32_t, FrameHash> frame_of_;
  std::vector<Node> nodes_;
  tsl::robin_map<std::uint64_t, std::uint32_t, profile::SpreadHash> child_of_;  ///< Parent, frame.
};

/// Puts the stacks of a recording into a tree.
class StackNodes {
 public:
  /// `tells_lines`: lines of one function are frames of their own.
  StackNodes(const profile::Recording& recording, CallTree& tree, Names& names, bool tells_lines);

  /// The node of a stack's leaf.
  std::uint32_t of(std::uint32_t stack);

 private:
  std::uint32_t node_of(const profile::Stack& stack);
  const std::vector<std::uint32_t>& frames_of(std::uint32_t location);
  Frame frame_of(std::uint32_t label) const;

  const profile::Recording& recording_;
  CallTree& tree_;
  Names& names_;
  const profile::Labels labels_;
  const profile::FrameRoles roles_;
  const bool tells_lines_;
  std::vector<std::vector<std::uint32_t>> frames_;  ///< Per location, inlined callee first.
  std::vector<std::uint32_t> nodes_;                ///< Per stack.
  std::uint32_t no_stack_ = profile::kNone;
};

/// The call tree after pruning: where each node went.
struct Pruned {
  Nodes nodes;
  Frames frames;
  std::vector<std::uint32_t> moved;  ///< Per node of the whole tree, the one that stands for it.
  std::vector<bool> is_kept;         ///< Per node of the whole tree: stands for itself.
  std::uint64_t left_out = 0;        ///< Nodes that do not.

  [[nodiscard]] bool is_rest(std::uint32_t node) const { return !is_kept[node]; }
};

/// Keeps the `most` nodes with the largest `weight`, which no child has more of than its parent;
/// what hangs below goes into "[smaller ones]" beside the children kept.
[[nodiscard]] Pruned prune(const CallTree& tree, const std::vector<double>& weight,
                           std::size_t most, UsedNames& names, NameIndex smaller_ones);

/// Name of the frame of what was pruned.
inline constexpr std::string_view kSmallerOnes = "[smaller ones]";

// Short names for the functions of a page.

class ShortNames {
 public:
  ShortNames() = default;
  /// Of all functions of the tree: two that differ do not look the same.
  ShortNames(const CallTree& tree, const Names& names);

  /// For each of the names used, at most `most` bytes; empty: the name itself.
  [[nodiscard]] std::vector<std::string> of(const UsedNames& names, std::size_t most) const;

 private:
  std::vector<std::string> texts_;  ///< By NameIndex; empty: the name itself.
};

}  // namespace geiger::page
