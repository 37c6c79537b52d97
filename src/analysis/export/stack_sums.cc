#include "analysis/export/stack_sums.h"

#include <map>

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

std::vector<StackSums> sums_by_stack(const profile::Recording& recording,
                                     const profile::Profile& profile) {
  std::map<std::uint32_t, estimation::NodeSums> by_stack;
  for (const profile::Entry& entry : profile.entries) {
    accumulate(by_stack[entry.stack], entry, recording, profile);
  }
  for (const profile::Entry& entry : profile.open) {
    estimation::NodeSums sums;
    accumulate(sums, entry, recording, profile);
    by_stack[entry.stack].leave_open(sums);
  }
  std::vector<StackSums> stacks;
  stacks.reserve(by_stack.size());
  for (const auto& [stack, sums] : by_stack) stacks.push_back({stack, sums});
  return stacks;
}

std::vector<std::int64_t> rounded_bytes(const std::vector<StackSums>& stacks) {
  return rounded(stacks, &estimation::NodeSums::all_bytes);
}

std::vector<std::int64_t> rounded_objects(const std::vector<StackSums>& stacks) {
  return rounded(stacks, &estimation::NodeSums::all_objects);
}

}  // namespace geiger::exports
