#include "analysis/export/stack_sums.h"

#include <algorithm>

#include "estimation/rounding.h"

namespace geiger::exports {
namespace {

std::vector<std::int64_t> rounded(const std::vector<StackSums>& stacks,
                                  double (estimation::NodeSums::*value)() const) {
  std::vector<double> values;
  values.reserve(stacks.size());
  for (const StackSums& each : stacks) values.push_back((each.sums.*value)());
  return estimation::round_to_total(values);
}

}  // namespace

std::vector<StackSums> sums_in_order(const profile::Recording& recording,
                                     const profile::Profile& profile) {
  std::vector<StackSums> stacks = profile::sums_by_stack(recording, profile);
  std::ranges::sort(stacks, {}, &StackSums::stack);
  return stacks;
}

std::vector<std::int64_t> rounded_bytes(const std::vector<StackSums>& stacks) {
  return rounded(stacks, &estimation::NodeSums::all_bytes);
}

std::vector<std::int64_t> rounded_objects(const std::vector<StackSums>& stacks) {
  return rounded(stacks, &estimation::NodeSums::all_objects);
}

}  // namespace geiger::exports
