#include "analysis/profile/lives/suspects.h"

#include <algorithm>

#include "analysis/profile/recording/cut.h"

namespace geiger::profile {

std::vector<Nanoseconds> judged_before(std::span<const Teardown> teardowns) {
  std::vector<Nanoseconds> until;
  for (const Teardown& teardown : teardowns) {
    until.push_back(teardown.is_found() ? teardown.from : kItsEnd);
  }
  return until;
}

std::vector<Nanoseconds> ran_until(const Recording& recording,
                                   std::span<const Nanoseconds> judged) {
  std::vector<Nanoseconds> ran(judged.size(), 0);
  for (std::size_t i = 0; i < judged.size(); ++i) {
    if (judged[i] < recording.processes[i].end) ran[i] = judged[i];
  }
  return ran;
}

AccusedStacks accused_stacks(const Recording& recording) {
  const std::vector<Nanoseconds> until = judged_before(find_teardowns(recording));
  LeakOptions options;
  options.ran_until = ran_until(recording, until);
  Recording judged = recording;
  cut_at(judged, until);
  const Leaks leaks = find_leaks(judged, options);
  AccusedStacks accused;
  for (const LeakSite& site : leaks.sites) {
    if (site.verdict != LeakVerdict::kSuspect && site.owner == kNone) continue;
    const bool is_owned = site.owner != kNone;
    for (const std::uint32_t sample : site.group.samples) {
      accused[judged.samples[sample].stack] =
          is_owned ? leaks.owners[site.owner].whole.group.name : "";
    }
  }
  return accused;
}

}  // namespace geiger::profile
