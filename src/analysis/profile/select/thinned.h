// Recordings whose live samples were thinned: how estimates use the samples whose lifetimes are
// still known.
//
// A runtime with bounded memory drops samples by a chance that has nothing to do with the
// program, until few enough are followed. All of them were allocated; the fates of those
// that were kept stand for the fates of all (docs/internals/estimators.md, Thinned fates).
#pragma once

#include <cstdint>

#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "estimation/counts.h"
#include "estimation/thinning.h"

namespace geiger::profile {

/// Whether what is selected depends on how long samples live.
[[nodiscard]] bool depends_on_fates(const Selection& selection);

/// One sample as an estimate that depends on fates counts it, by requested bytes.
[[nodiscard]] estimation::Count count_of_fate(const Recording& recording, const Sample& sample);

/// E where fates count: of objects up to the largest 1/lambda, with the least that thinning
/// kept (docs/internals/estimators.md, section 10); T = 1 counts as one byte where anything was
/// thinned. Samples raise it where they are larger. 0 where nothing can be missed.
[[nodiscard]] double largest_interval_of_fates(const Recording& recording);

[[nodiscard]] bool is_any_thinned(const Recording& recording);

/// The size from which a profile has every object, in bytes; infinite where there is none.
[[nodiscard]] double complete_from(const Recording& recording, const Profile& profile);

/// Which part (peak.h) of a process with thinned fates a sample is in. `random`: 64 uniform bits.
[[nodiscard]] estimation::Parts parts_of_fate(const Recording& recording, const Sample& sample,
                                              std::uint64_t random);

/// Whether a sample, thinned out or not, belongs to those that are independent of the first
/// of these parts. `random` as there.
[[nodiscard]] bool is_beside_first_part(const Recording& recording, const Sample& sample,
                                        std::uint64_t random);

/// The kind of samples that a part of a process with thinned fates chose, the first, or what is
/// independent of it: `count` is that of all.
[[nodiscard]] estimation::Count first_part(const estimation::Count& count, double keep);
[[nodiscard]] estimation::Count second_part(const estimation::Count& count, double keep,
                                            bool is_of_fates);

}  // namespace geiger::profile
