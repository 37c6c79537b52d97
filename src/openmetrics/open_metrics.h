// A program's memory as OpenMetrics text, which Prometheus and its relatives scrape: the same
// names from `geiger serve` and from inside the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"

namespace geiger::openmetrics {

inline constexpr char kContentType[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// With its confidence interval.
struct Estimate {
  double value = 0, lowest = 0, highest = 0;
};

/// One process. What is not known is left out.
struct Process {
  std::vector<std::pair<std::string, std::string>> labels;
  bool is_recording = false;
  std::optional<Estimate> live_bytes, live_objects;
  std::optional<Bytes> allocated;  ///< Requested so far, exact ...
  Bytes missing = 0;               ///< ... but for at most this many more.
  std::optional<std::uint64_t> samples;
  std::uint64_t live_samples = 0;
  std::uint64_t dropped = 0;
  Bytes interval = 0;
  std::optional<std::uint64_t> guard_chosen, guarded;  ///< Samples, in guard mode.
  std::optional<Bytes> resident;
};

/// The whole answer to a scrape. `level`: of the intervals.
[[nodiscard]] std::string text_of(const std::vector<Process>& processes, double level,
                                  const std::string& version);

}  // namespace geiger::openmetrics
