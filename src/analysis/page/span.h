// The stretch of time that a page shows, and its division into buckets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace geiger::page {

/// CLOCK_MONOTONIC; `to` excluded.
struct Span {
  Nanoseconds from = 0, to = 0;
};

/// Buckets of equal length, the last one maybe shorter.
class Buckets {
 public:
  /// At most `most` >= 1 buckets, at least one.
  Buckets(const Span& span, std::size_t most)
      : span_(span),
        length_(std::max<Nanoseconds>((length_of(span) + most - 1) / most, 1)),
        count_(static_cast<std::int32_t>((length_of(span) + length_ - 1) / length_)) {}

  [[nodiscard]] std::int32_t count() const { return count_; }
  [[nodiscard]] const Span& span() const { return span_; }
  /// The bucket of an instant; instants outside count for the first and the last.
  [[nodiscard]] std::int32_t of(Nanoseconds time) const {
    const Nanoseconds after = time - std::min(time, span_.from);
    return static_cast<std::int32_t>(
        std::min<Nanoseconds>(after / length_, static_cast<Nanoseconds>(count_ - 1)));
  }
  /// Starts of all buckets and the end of the last, after `origin`.
  [[nodiscard]] std::vector<Nanoseconds> edges(Nanoseconds origin) const {
    std::vector<Nanoseconds> edges;
    for (std::int32_t i = 0; i < count_; ++i) {
      edges.push_back(span_.from - origin + length_ * static_cast<Nanoseconds>(i));
    }
    edges.push_back(std::max(span_.to, span_.from + 1) - origin);
    return edges;
  }

 private:
  static Nanoseconds length_of(const Span& span) {
    return span.to > span.from ? span.to - span.from : 1;
  }

  Span span_;
  Nanoseconds length_;
  std::int32_t count_;
};

}  // namespace geiger::page
