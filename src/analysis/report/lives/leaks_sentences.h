// The sentences of `leaks`: what was judged, what was found, and what is left open.
#pragma once

#include <string>

#include "analysis/present/style.h"
#include "analysis/report/lives/leaks.h"

namespace geiger::report {

/// "Store::open (store.cc:8)".
[[nodiscard]] std::string name_and_place(const LeakLine& line);
/// "at least 4.1 MiB", "at most 4.1 MiB": of a second, where only that is known; else empty.
[[nodiscard]] std::string growth_limit(const LeakLine& line);
/// "+4.8 MiB ± 1.3 a second", "at least 4.1 MiB a second".
[[nodiscard]] std::string growth_rate(const LeakLine& line);
/// "blocks of 2,064 bytes in use grew by 52 KiB ± 3 a second".
[[nodiscard]] std::string growing_text(const profile::GrowingChunks& chunks);
/// Of a site with objects from before the recording: "blocks of 2,064 bytes in use went from 40,000
/// to 41,200", or what was in memory when the recording began.
[[nodiscard]] std::string in_use_text(const profile::LateGrowth& late);
/// "q = 7e-06".
[[nodiscard]] std::string q_equation(double q);

/// Which heap was judged, and the verdicts in figures.
[[nodiscard]] std::string judged_heap(const LeaksReport& report);

/// What keeps a leak from being seen, what is not listed, and what a suspect is.
[[nodiscard]] std::string leaks_footer(const LeaksReport& report, const present::Style& style);

}  // namespace geiger::report
