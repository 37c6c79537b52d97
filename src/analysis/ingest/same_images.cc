#include "analysis/ingest/same_images.h"

#include <algorithm>
#include <tuple>

#include "analysis/ingest/decode/fates.h"

namespace geiger::ingest {
namespace {

void thin(profile::Recording& recording, std::uint32_t process, std::uint32_t level) {
  if (recording.processes[process].thinning == level) return;
  recording.processes[process].thinning = level;
  mark_thinned_out(recording, process);
}

}  // namespace

bool is_same_image(const profile::Process& a, const profile::Process& b) {
  const auto identity = [](const profile::Process& process) {
    return std::tie(process.pid, process.image_start, process.seed, process.executable);
  };
  return a.image_start != 0 && identity(a) == identity(b);
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> match_images(profile::Recording& before,
                                                                  profile::Recording& after) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::vector<bool> is_taken(after.processes.size());
  for (std::uint32_t a = 0; a < before.processes.size(); ++a) {
    for (std::uint32_t b = 0; b < after.processes.size(); ++b) {
      if (is_taken[b] || !is_same_image(before.processes[a], after.processes[b])) continue;
      is_taken[b] = true;
      pairs.emplace_back(a, b);
      const std::uint32_t level =
          std::max(before.processes[a].thinning, after.processes[b].thinning);
      thin(before, a, level);
      thin(after, b, level);
      break;
    }
  }
  return pairs;
}

}  // namespace geiger::ingest
