#include "analysis/ingest/same_images.h"

#include <algorithm>
#include <map>

#include "analysis/ingest/decode/fates.h"

namespace geiger::ingest {
namespace {

void thin(profile::Recording& recording, std::uint32_t process, std::uint32_t level) {
  if (recording.processes[process].thinning == level) return;
  recording.processes[process].thinning = level;
  mark_thinned_out(recording, process);
}

}  // namespace

std::optional<ImageIdentity> identity_of(const profile::Process& process) {
  if (process.image_start == 0) return std::nullopt;
  return ImageIdentity(process.pid, process.image_start, process.seed, process.executable);
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> match_images(profile::Recording& before,
                                                                  profile::Recording& after) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::map<ImageIdentity, std::uint32_t> later;
  for (std::uint32_t b = 0; b < after.processes.size(); ++b) {
    if (auto identity = identity_of(after.processes[b])) later.emplace(std::move(*identity), b);
  }
  for (std::uint32_t a = 0; a < before.processes.size(); ++a) {
    const auto identity = identity_of(before.processes[a]);
    const auto found = identity ? later.extract(*identity) : decltype(later)::node_type();
    if (found.empty()) continue;
    const std::uint32_t b = found.mapped();
    pairs.emplace_back(a, b);
    const std::uint32_t level = std::max(before.processes[a].thinning, after.processes[b].thinning);
    thin(before, a, level);
    thin(after, b, level);
  }
  return pairs;
}

}  // namespace geiger::ingest
