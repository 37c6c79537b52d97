// The peak: when the live heap was largest, without the bias of choosing a maximum.
//
// The instant where an estimate is largest is one where the estimate erred upwards: read at that
// instant, the same samples overstate the heap (by two standard errors after ten turnovers of it).
// So the sampling process is split into two independent processes: the first, of a quarter of the
// rate, only locates, the second only estimates. (A coin per sample would not do: an object in one
// part is then never in the other, which biases objects near T.)
//
// The first part is largest from its last sample on, which may be some T before the top. So the
// instant is the last one before the next free of any sample: where the heap grows until its top,
// the top itself. Without such a free, or where all samples show more there, it is the end.
//
// The lower limit of the peak is that of the heap at the instant, which is at most the peak. The
// upper limit is the largest one of all samples over all instants: at the true peak it is too low
// with the probability of any upper limit, and the largest is not below it.
//
// The peak of several processes is that of the sum of their heaps, at one instant.
// docs/internals/estimators.md, section 11, says why a quarter and what it covers.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "estimation/estimate.h"
#include "estimation/thinning.h"

namespace geiger::profile {

/// pi = 1: flagged so, or drawn at T = 1.
[[nodiscard]] inline bool is_surely_sampled(const Recording& recording, const Sample& sample) {
  return sample.is_certain || std::isinf(recording.epochs[sample.epoch].lambda);
}

using estimation::kLocatingShare;

/// Which parts drew a sample (estimation/thinning.h); certain ones are in both.
/// `sample` lies in `recording`. The random bits are a hash of the process seed and
/// the sample's position in its process, so every reading of a recording splits alike,
/// in whatever order it has the processes, and so do two runs of one thread with the
/// same seed.
[[nodiscard]] estimation::Parts parts_of(const Recording& recording, const Sample& sample);

/// Whether a sample is independent of what the first part chose. The second part, but where fates
/// were thinned it is more than that (estimation/thinning.h).
[[nodiscard]] bool is_beside_choice(const Recording& recording, const Sample& sample);

/// Live at `instant`: allocated by then, freed only later.
[[nodiscard]] inline bool is_live_at(const Sample& sample, Nanoseconds instant) {
  return sample.time <= instant && (sample.free_time == 0 || sample.free_time > instant);
}

/// The last instant at which a process was there: of the last thing recorded of it. ~0 where it ran
/// on, though no more was recorded of it: it is taken to hold what it held then.
[[nodiscard]] inline Nanoseconds last_instant_of(const Process& process) {
  const bool has_ended = process.ending == Ending::kExited || process.ending == Ending::kKilled;
  return has_ended && process.end >= process.start ? process.end : ~Nanoseconds{0};
}
[[nodiscard]] inline bool is_running(const Process& process, Nanoseconds instant) {
  return process.start <= instant && instant <= last_instant_of(process);
}

/// Per process, whether it counts towards what is live at the end of `selection`.
[[nodiscard]] std::vector<bool> there_at_end(const Recording& recording,
                                             const Selection& selection);

/// Where most was held.
struct Peak {
  Nanoseconds time = 0;
  /// The estimate that was largest there: overstated by having been chosen.
  double bytes = 0;
};

/// Whether any sample beside those of `heap` has pi < 1, so that it takes two parts to
/// choose an instant and to measure at it.
[[nodiscard]] bool is_any_uncertain(const Recording& recording, std::uint32_t heap);

/// The samples that hold those of a heap, of all processes or of one.
[[nodiscard]] std::span<const Sample> samples_for_peak(const Recording& recording,
                                                       const PeakScope& within);

/// The first instant at which the estimated heap was largest: by the first part if `is_split`, else
/// by all samples. The first start, or that of the window if it is later, where nothing is held.
[[nodiscard]] Peak locate_peak(const Recording& recording, bool is_split, const PeakScope& within);

/// The first instant after `instant` at which a sample of the heap is freed, or a process ends;
/// none: ~0.
[[nodiscard]] Nanoseconds next_free(const Recording& recording, const PeakScope& within,
                                    Nanoseconds instant);

/// The estimate of the largest heap, or of the filtered part of it, from that of what was `there`
/// at the instant that stands for it. The upper limit becomes the largest one that all samples give
/// at any instant; both limits of a part the outermost ones at the instants at which the heap
/// may have been largest (docs/internals/estimators.md, section 11). `level` is that of `there`.
[[nodiscard]] estimation::Estimate estimate_peak(const Recording& recording, const PeakTotal& peak,
                                                 const estimation::Estimate& there, double level);

/// The instant that kLiveAtPeak selects.
struct PeakInstant {
  Nanoseconds time = 0;
  /// Located by the first part: what it bounds is to be selected with is_chosen_by_samples.
  bool is_chosen_by_samples = false;
};
[[nodiscard]] PeakInstant largest_peak(const Recording& recording, std::uint32_t heap);

/// The peak of one process's own heap: as of kLiveAtPeak, but located and estimated in it alone.
[[nodiscard]] Profile own_peak(const Recording& recording, const Selection& selection,
                               std::uint32_t process);

}  // namespace geiger::profile
