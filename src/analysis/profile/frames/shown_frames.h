// Cuts stacks down to the frames that views show, for exports whose readers have no frame rules.
#pragma once

#include "analysis/profile/recording.h"

namespace geiger::profile {

/// Takes from every stack what its rules leave out (FrameRoles::keep_shown). Stacks keep their
/// numbers, so two may become equal; types that came from frames are kept with the samples.
void keep_shown_frames(Recording& recording);

}  // namespace geiger::profile
