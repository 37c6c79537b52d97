#include "analysis/export/pprof_comments.h"

#include <fmt/format.h>

#include "analysis/present/format.h"
#include "analysis/present/measure.h"
#include "analysis/profile/memory/gaps.h"
#include "analysis/profile/memory/mappings.h"

namespace geiger::exports {
namespace {

std::string total_comment(const char* name, const profile::Recording& recording,
                          const profile::Profile& profile, double level) {
  const auto measure = present::measure_total(recording, profile, level);
  return fmt::format("{}_space {} ({} interval, {}); {}_objects {}", name,
                     present::figure(measure.bytes, present::Quantity::kBytes).text(),
                     present::level_text(level), present::plural(measure.samples, "sample"), name,
                     present::objects_figure(measure).text());
}

}  // namespace

std::vector<std::string> pprof_comments(const profile::Recording& recording,
                                        const profile::Profile* allocated,
                                        const profile::Profile& live, double level,
                                        std::string_view part) {
  std::vector<std::string> comments;
  const bool is_mapped = profile::is_of_mappings(live.kind);
  if (is_mapped) {
    comments.emplace_back("mapped by the program's own calls of mmap, all counted by geiger");
  } else if (profile::is_any_without_errors(recording)) {
    comments.emplace_back("values of another profile, which does not contain their errors");
  } else if (!recording.processes.empty()) {
    comments.push_back(fmt::format("estimated by geiger from samples, one byte in {} on average",
                                   present::exact_bytes(recording.processes.front().interval)));
  }
  if (!part.empty()) comments.emplace_back(part);
  if (is_mapped) return comments;
  if (allocated != nullptr) {
    comments.push_back(total_comment("alloc", recording, *allocated, level));
  }
  comments.push_back(total_comment("inuse", recording, live, level));
  return comments;
}

}  // namespace geiger::exports
