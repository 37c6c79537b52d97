#include "analysis/profile/recording/recording.h"

#include <algorithm>
#include <random>
#include <string_view>
#include <unordered_map>

namespace geiger::profile {

std::vector<NumberedMark> numbered_marks(const Recording& recording) {
  std::vector<NumberedMark> marks;
  for (std::uint32_t i = 0; i < recording.marks.size(); ++i) marks.push_back({.mark = i});
  std::ranges::stable_sort(marks, {},
                           [&](const NumberedMark& one) { return recording.marks[one.mark].time; });
  std::unordered_map<std::string_view, std::uint32_t> seen;
  for (NumberedMark& one : marks) one.number = ++seen[recording.marks[one.mark].name];
  for (NumberedMark& one : marks) one.of_name = seen[recording.marks[one.mark].name];
  return marks;
}

std::uint64_t table_seed() {
  static const std::uint64_t seed = [] {
    std::random_device source;
    return std::uint64_t{source()} << 32 | source();
  }();
  return seed;
}

}  // namespace geiger::profile
