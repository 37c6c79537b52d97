// `marks`: the instants that have names, and what the heap was at each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::report {

struct MarksOptions {
  double level = 0.95;   ///< In (0, 1).
  std::size_t top = 50;  ///< Marks listed, the first ones; 0 = all.
};

struct MarkLine {
  std::string name;
  std::uint32_t number = 1, of_name = 1;  ///< "mark:NAME#number" where there are several.
  std::uint32_t process = 0, thread = profile::kNone;
  Nanoseconds after_start = 0;  ///< Of the recording.
  present::Measure allocated;   ///< Since the mark before it, or the start.
  present::Measure live;        ///< At it, in all processes that were there.
};

struct MarksReport {
  MarksOptions options;
  std::uint64_t marks = 0;      ///< Before `top`.
  std::vector<MarkLine> lines;  ///< In order of time.
};

[[nodiscard]] MarksReport marks_report(const profile::Recording& recording,
                                       const MarksOptions& options);

[[nodiscard]] std::string to_text(const MarksReport& report, const profile::Recording& recording,
                                  const present::Style& style);
[[nodiscard]] std::string to_json(const MarksReport& report, const profile::Recording& recording);
[[nodiscard]] const present::Fields<present::InRecording<MarksReport>>& fields_of(
    present::Of<present::InRecording<MarksReport>> /*type*/);

}  // namespace geiger::report
