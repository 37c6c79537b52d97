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

#include "analysis/profile/profile.h"
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

/// Whether a sample of what was allocated tells nothing about what the first half chose. The
/// second half, but where fates were thinned it is more than that (estimation/thinning.h).
[[nodiscard]] bool is_beside_choice(const Recording& recording, const Sample& sample);

/// Live at `instant`: allocated by then, freed only later.
[[nodiscard]] inline bool is_live_at(const Sample& sample, Nanoseconds instant) {
  return sample.time <= instant && (sample.free_time == 0 || sample.free_time > instant);
}

/// Where a process held most.
struct Peak {
  Nanoseconds time = 0;
  /// The estimate that was largest there: overstated by having been chosen. For comparing
  /// processes only.
  double bytes = 0;
};

/// Whether any sample beside those of `heap` has pi < 1, so that it takes two halves to
/// choose an instant and to measure at it.
[[nodiscard]] bool is_any_uncertain(const Recording& recording, std::uint32_t heap);

/// Per process, the first instant at which its estimated live heap was largest: by the
/// first half if `is_split`, else by all samples. Looks at the heap and the window
/// (from <= t < to) of `within` and at nothing else of it: of filtered samples the peak of
/// all is asked for. The start of process or window, whichever is later, where it holds
/// none.
[[nodiscard]] std::vector<Peak> locate_peaks(const Recording& recording, bool is_split,
                                             const Selection& within);

/// The instant of the largest of these peaks, located by the first half: the window that
/// it bounds is to be selected with is_chosen_by_half.
[[nodiscard]] Nanoseconds largest_peak(const Recording& recording, std::uint32_t heap);

}  // namespace geiger::profile
