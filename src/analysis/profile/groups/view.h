// Views: a profile grouped for reading. Every row and node carries the additive sums, so that a
// report derives value, variance and interval at once.
//
// Order, everywhere: by estimated bytes, the largest first, then by name, then by
// detail; so the same recording always reads the same.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/profile/frames/labels.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "estimation/sums.h"

namespace geiger::profile {

/// What a row of a table stands for.
enum class GroupBy : std::uint8_t {
  kFunction,   ///< A function of a module, inlined ones included: of a stack the one to blame.
  kLine,       ///< A line of such a function.
  kStack,      ///< A whole call stack.
  kModule,     ///< An executable or shared object.
  kThread,     ///< Threads of one name, of all processes.
  kTid,        ///< A thread.
  kProcess,    ///< A process image.
  kSize,       ///< Requested bytes by powers of two.
  kAlignment,  ///< The requested alignment.
  kType,       ///< The types of the objects, as far as they are known (types.h).
  kHolder,     ///< What holds the objects, if that was looked for (observations.h).
  kLabel,      ///< A label within those around it: "request / tenant=acme".
  kLifetime,   ///< Decades (profile.h); of profiles split by lifetime.
  kHeap,       ///< The heap that the profile is of: one row.
};

/// Their names, as typed and in JSON, in the order of the help.
using NamedGroup = std::pair<std::string_view, GroupBy>;
inline constexpr std::array<NamedGroup, 14> kGroups{{{"function", GroupBy::kFunction},
                                                     {"line", GroupBy::kLine},
                                                     {"stack", GroupBy::kStack},
                                                     {"module", GroupBy::kModule},
                                                     {"thread", GroupBy::kThread},
                                                     {"tid", GroupBy::kTid},
                                                     {"process", GroupBy::kProcess},
                                                     {"size", GroupBy::kSize},
                                                     {"type", GroupBy::kType},
                                                     {"holder", GroupBy::kHolder},
                                                     {"label", GroupBy::kLabel},
                                                     {"lifetime", GroupBy::kLifetime},
                                                     {"heap", GroupBy::kHeap},
                                                     {"alignment", GroupBy::kAlignment}}};
[[nodiscard]] constexpr std::string_view name_of(GroupBy by) {
  return std::ranges::find(kGroups, by, &NamedGroup::second)->first;
}

/// A row of a table.
struct Row {
  std::string name;             ///< Function, blamed function of the stack, module file name ...
  std::string detail;           ///< Module file name, nearest callers (" < "), module path ...
  std::uint32_t stack = kNone;  ///< The stack of a kStack row, else the first one of the row.
  estimation::NodeSums self;    ///< Allocated by the row itself: of stacks that it is to blame
                                ///< for (frame_roles.h), or whose leaf it is.
  estimation::NodeSums total;   ///< With everything it called; a stack counts once
                                ///< even where the row recurs in it. Of a label: with
                                ///< those inside it. Else the same as self. Of
                                ///< functions, lines, modules: stacks that were cut
                                ///< before they reached the row are open; of types
                                ///< objects of unknown type.
  SourceLine where = {};        ///< Of functions, lines, stacks: the line with most of `self`.
  std::uint32_t place = 0;      ///< In the natural order, where there is one: of sizes ...
};

/// The rows of a profile, ordered by total.
[[nodiscard]] std::vector<Row> table(const Recording& recording, const Profile& profile,
                                     GroupBy group);

/// What a profile holds of a stack. Not a Row, whose name and detail trees and exports do not need.
struct StackSums {
  std::uint32_t stack = kNone;
  estimation::NodeSums sums;
};

/// The sums of every stack that the profile holds, in an order that follows from them alone.
[[nodiscard]] std::vector<StackSums> sums_by_stack(const Recording& recording,
                                                   const Profile& profile);

/// A node of a call tree: a path of frames from the root.
struct TreeNode {
  /// Index into Recording::frames, or into Recording::locations where the
  /// location has no frames (`is_location`); kNone for the root and marks.
  std::uint32_t frame_or_location = kNone;
  bool is_location = false;
  std::string name;  ///< "" for the root; "[truncated]", "[no stack]" for marks.
  /// The line that most of `total` passes through.
  SourceLine where = {};
  estimation::NodeSums self;            ///< Of the stacks that end at this node.
  estimation::NodeSums total;           ///< self and all children.
  std::vector<std::uint32_t> children;  ///< Indexes into Tree::nodes, ordered.
};

/// Node 0 is the root and carries the whole profile. A child's index is larger
/// than its parent's, so a walk by index needs no recursion.
struct Tree {
  std::vector<TreeNode> nodes;
};

/// The call tree, callers above callees; `inverted`: callees above their callers.
[[nodiscard]] Tree tree(const Recording& recording, const Profile& profile, bool inverted);

}  // namespace geiger::profile
