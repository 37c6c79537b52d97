// The heap, the resident set and the marks over the time of a page.
#pragma once

#include <vector>

#include "analysis/page/items.h"
#include "analysis/page/page_data.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"

namespace geiger::page {

/// From the start of the recording, or of the selection, to just after the last record, or to
/// the end of the selection.
[[nodiscard]] Span span_of(const profile::Recording& recording,
                           const profile::Selection& selection);

/// Most points of the resident set, and most marks, that a page has.
inline constexpr std::size_t kMostPoints = 1000, kMostMarks = 500;

/// The resident sets of all processes observed, added; of each stretch of time the largest.
[[nodiscard]] std::vector<std::pair<Nanoseconds, Bytes>> resident_series(
    const profile::Recording& recording, const Span& span);

/// The memory that the processes mapped themselves, past their allocators: of each stretch of time
/// the largest sum; empty if there was none.
[[nodiscard]] std::vector<std::pair<Nanoseconds, Bytes>> mapped_series(
    const profile::Recording& recording, const Span& span);

/// The marks within the span, in order of time: kMostMarks of them, and how many there are.
struct MarksOfPage {
  std::vector<PageMark> marks;
  std::size_t all = 0;
};
[[nodiscard]] MarksOfPage marks_of(const profile::Recording& recording, const Span& span);

/// After the start of the recording: when all processes together held most. Nothing where no peak
/// is known.
[[nodiscard]] std::optional<Nanoseconds> peak_of(const profile::Recording& recording,
                                                 const profile::Profile& peak);

/// Live bytes at the end of each bucket.
[[nodiscard]] std::vector<estimation::Estimate> live_over_time(const Items& items,
                                                               const Buckets& buckets,
                                                               double largest_interval,
                                                               double level);

}  // namespace geiger::page
