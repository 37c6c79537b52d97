// What stacks tell of the functions they pass through, and what they cannot tell.
//
// A walk ends at the limit of frames or at code without unwind tables, an import at the depth its
// program kept: what called the last frame is then not known. A frame may have no name. Every
// question about functions is answered here, so that all of them leave the same stacks open.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/profile/answer.h"
#include "analysis/profile/labels.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"

namespace geiger::profile {

/// Whether all callers of a stack's last frame are in it; not of kNone, for a stack that could not
/// be recorded.
[[nodiscard]] bool is_whole(const Recording& recording, std::uint32_t stack);

/// The part of a profile whose stacks are not whole; open samples are not in it.
[[nodiscard]] Profile with_cut_stacks(const Recording& recording, const Profile& profile);

/// What keeps the stacks of a question open.
struct StackDoubts {
  bool cut = false, unnamed = false;
};

/// By stack: whether it passes through a function that is asked for. `is_named`, by label: whether
/// the label is of such a function.
///
/// A frame without a name may be one of them if its module has others, or if nothing that is known
/// has such a name; frames of the C and C++ runtime are taken for its own. `doubts` gets what keeps
/// any stack open.
[[nodiscard]] std::vector<Answer> stacks_through(const Recording& recording, const Labels& labels,
                                                 const std::vector<bool>& is_named,
                                                 StackDoubts& doubts);

}  // namespace geiger::profile
