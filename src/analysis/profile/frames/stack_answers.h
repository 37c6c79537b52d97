// Which functions stacks pass through, and where that is unknown.
//
// A walk ends at the limit of frames or at code without unwind tables, an import at the depth its
// program kept: what called the last frame is then not known. A frame may have no name. Every
// question about functions is answered here, so that all of them leave the same stacks open.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/profile/frames/labels.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"

namespace geiger::profile {

/// Whether all callers of a stack's last frame are in it; not of kNone, for a stack that could not
/// be recorded.
[[nodiscard]] bool is_whole(const Recording& recording, std::uint32_t stack);

/// Whether stacks were cut where the recording allowed for no more frames (geiger run
/// --max-frames). Frames of geiger itself, which are left out, counted.
[[nodiscard]] bool has_stacks_at_limit(const Recording& recording);

/// The part of a profile whose stacks are not whole; open samples are not in it.
[[nodiscard]] Profile with_cut_stacks(const Recording& recording, const Profile& profile);

/// What keeps the stacks of a question open.
struct StackDoubts {
  bool cut = false, unnamed = false, lineless = false;
};

/// What a question asks of labels.
struct AskedLabels {
  std::vector<bool> is_named;  ///< By label: it is of a requested function.
  /// By label: its file is requested. Empty: no files are requested.
  std::vector<bool> is_in_file = {};
};

/// By stack: whether it passes through a requested function.
///
/// A frame without a name may be one of them if its module has others, or if nothing that is known
/// has such a name; frames of the C and C++ runtime are taken for its own. A function of which no
/// line is known may be in a file asked for if others of its module are. `doubts` gets what keeps
/// any stack open.
[[nodiscard]] std::vector<Answer> stacks_through(const Recording& recording, const Labels& labels,
                                                 const AskedLabels& asked, StackDoubts& doubts);

}  // namespace geiger::profile
