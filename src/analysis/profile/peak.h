// The peak: when the live heap was largest, without the bias of choosing a maximum.
//
// The instant where an estimate is largest is one where the estimate erred
// upwards: read at that instant, the same samples overstate the heap (by two
// standard errors after ten turnovers of it). So an independent coin halves the
// uncertain samples: half A only locates, half B only estimates. B knows nothing
// of the choice, hence is unbiased for the heap at the instant that A chose;
// that instant is at most a little off the true peak, and the figure therefore
// states the heap at a known instant rather than the maximum itself.
//
// Several processes each have their own peak instant. A profile over them adds
// heaps that need not have been as large at the same time.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "analysis/profile/recording.h"

namespace geiger::profile {

enum class Half : std::uint8_t { kLocates, kEstimates };

/// The coin: a hash of the sample's identity (process seed, time, address, drawn
/// byte), so that it falls the same way in every reading of a recording.
[[nodiscard]] Half half_of(const Recording& recording, const Sample& sample);

/// pi = 1: flagged so, or drawn at T = 1.
[[nodiscard]] inline bool is_surely_sampled(const Recording& recording, const Sample& sample) {
  return sample.is_certain || std::isinf(recording.epochs[sample.epoch].lambda);
}

/// Live at `instant`: allocated by then, freed only later.
[[nodiscard]] inline bool is_live_at(const Sample& sample, Nanoseconds instant) {
  return sample.time <= instant && (sample.free_time == 0 || sample.free_time > instant);
}

/// Per process, the first instant at which its estimated live heap was largest,
/// by the certain samples and the locating half (each drawn with `keep`; 1 takes
/// all samples). The start of the process where it holds none.
[[nodiscard]] std::vector<Nanoseconds> locate_peaks(const Recording& recording, double keep);

}  // namespace geiger::profile
