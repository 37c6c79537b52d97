// `leaks`: sites that keep growing, with the evidence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile/leaks.h"
#include "analysis/profile/recording.h"
#include "analysis/report/format.h"
#include "analysis/report/measure.h"
#include "analysis/report/style.h"

namespace geiger::report {

struct LeaksOptions {
  profile::LeakOptions search;
  std::size_t top = 20;    ///< Suspects listed; 0 = all.
  bool shows_all = false;  ///< Sites that are no suspects too.
};

/// Growth of a site, as bytes per second of its processes.
struct GrowthRate {
  double value = 0;
  estimation::Interval interval;
};

struct LeakLine {
  profile::LeakSite site;
  Measure live;
  Share never_freed;  ///< Of what it allocated.
  GrowthRate rate;
};

struct SuppressedLine {
  std::string pattern;
  Measure live;
};

struct LeaksReport {
  LeaksOptions options;
  Measure live;                 ///< Everything at the end.
  std::vector<LeakLine> lines;  ///< Suspects; with shows_all every site.
  std::uint64_t suspects = 0, undecided = 0, clear = 0;
  std::uint64_t tested = 0;
  std::uint64_t samples_needed = 0;
  std::vector<SuppressedLine> suppressed;
};

[[nodiscard]] LeaksReport leaks_report(const profile::Recording& recording,
                                       const LeaksOptions& options);

[[nodiscard]] std::string to_text(const LeaksReport& report, const profile::Recording& recording,
                                  const Style& style);
[[nodiscard]] std::string to_json(const LeaksReport& report, const profile::Recording& recording);

/// "suspect", "undecided", "clear".
[[nodiscard]] std::string_view name_of(profile::LeakVerdict verdict);

}  // namespace geiger::report
