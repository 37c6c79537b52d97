// The peak: when the live heap was largest, without the bias of choosing a maximum.
//
// The instant where an estimate is largest is one where the estimate erred
// upwards: read at that instant, the same samples overstate the heap (by two
// standard errors after ten turnovers of it). So the sampling process is split
// into two independent processes of half its rate: the first only locates, the
// second only estimates. The second knows nothing of the choice, hence is unbiased
// for the heap at the instant that the first chose; that instant is at most a
// little off the true peak, and the figure therefore states the heap at a known
// instant rather than the maximum itself. (A coin per sample would not do: an
// object in one half is then never in the other, which biases objects near T.)
//
// Several processes each have their own peak instant. A profile over them adds
// heaps that need not have been as large at the same time.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "analysis/profile/recording.h"
#include "estimation/thinning.h"

namespace geiger::profile {

/// pi = 1: flagged so, or drawn at T = 1.
[[nodiscard]] inline bool is_surely_sampled(const Recording& recording, const Sample& sample) {
  return sample.is_certain || std::isinf(recording.epochs[sample.epoch].lambda);
}

/// Which halves drew a sample (estimation/thinning.h); certain ones are in both.
/// `sample` lies in `recording`. The random bits are a hash of the process seed and
/// the sample's position in its process, so every reading of a recording splits alike,
/// in whatever order it has the processes, and so do two runs of one thread with the
/// same seed.
[[nodiscard]] estimation::Halves halves_of(const Recording& recording, const Sample& sample);

/// Live at `instant`: allocated by then, freed only later.
[[nodiscard]] inline bool is_live_at(const Sample& sample, Nanoseconds instant) {
  return sample.time <= instant && (sample.free_time == 0 || sample.free_time > instant);
}

/// Per process, the first instant at which its estimated live heap was largest: by
/// the first half if `is_split`, else by all samples. The start of the process
/// where it holds none. `heap`: which one is meant.
[[nodiscard]] std::vector<Nanoseconds> locate_peaks(const Recording& recording, bool is_split,
                                                    std::uint32_t heap = kProcessHeap);

}  // namespace geiger::profile
