// The peak of what this process has recorded, as analysis/profile/peak.h finds it in a
// recording: a quarter of the sampling process locates the instant, the rest estimates.
#pragma once

#include "api/profile.h"

namespace geiger::api {

/// Fills in samples, from and to of a GEIGER_PEAK profile of the process's own heap, from
/// its positions. Rates are those of the rest, unless all samples are certain.
void read_peak(Profile& profile);

}  // namespace geiger::api
