#include "analysis/holders/paths.h"

#include <utility>

namespace geiger::holders {

bool is_alike(const profile::HolderStep& a, const profile::HolderStep& b) {
  return a.bytes == b.bytes && a.type == b.type;
}

void fold(std::vector<profile::HolderStep>& steps) {
  const auto count_at = [&](std::size_t at, std::size_t together) {
    std::uint32_t times = 1;
    const auto is_again = [&](std::size_t from) {
      for (std::size_t i = 0; i < together; ++i) {
        const bool is_same = from + i < steps.size() && is_alike(steps[at + i], steps[from + i]) &&
                             steps[at + i].times == 1 && steps[from + i].times == 1;
        if (!is_same) return false;
      }
      return true;
    };
    while (is_again(at + times * together)) ++times;
    return times;
  };
  std::vector<profile::HolderStep> folded;
  for (std::size_t at = 0; at < steps.size();) {
    std::size_t together = 1;
    std::uint32_t times = 1;
    for (const std::size_t some : {2U, 3U}) {
      if (times == 1 && at + some <= steps.size()) {
        times = count_at(at, some);
        together = some;
      }
    }
    if (times == 1) together = 1;
    const std::size_t first = folded.size();
    for (std::size_t i = 0; i < together; ++i) folded.push_back(steps[at + i]);
    if (times > 1) {
      folded[first].times = times;
      folded[first].together = static_cast<std::uint32_t>(together);
    }
    at += times * together;
  }
  steps = std::move(folded);
}

}  // namespace geiger::holders
