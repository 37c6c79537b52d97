// The call tree of all that a page shows, root first; grows path by path.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/page/names.h"
#include "analysis/page/page_data.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/hash.h"
#include "analysis/profile/labels.h"
#include "analysis/profile/recording.h"

namespace geiger::page {

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

}  // namespace geiger::page
