// The peak of what this process has recorded, as analysis/profile/peak.h finds it in a
// recording: one half of the sampling process locates the instant, the other estimates.
#pragma once

#include "runtime/api/profile.h"

namespace geiger::api {

/// Fills in samples, from and to of a GEIGER_PEAK profile of the process's own heap, from
/// its positions. Rates are halved, except where everything was drawn.
void read_peak(Profile& profile);

}  // namespace geiger::api
