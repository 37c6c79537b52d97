#include "analysis/profile/frames/types.h"

#include "analysis/profile/frames/allocation_functions.h"
#include "analysis/profile/frames/type_rules.h"
#include "base/index_of.h"

namespace geiger::profile {
namespace {

/// Of a frame: what it says about the type, beside the number of one.
constexpr std::uint32_t kPassesOn = kNone;
constexpr std::uint32_t kNotAsked = kNone - 1;

}  // namespace

Types::Types(const Recording& recording) : names_{std::string(kUnknownType)} {
  known_[names_[0]] = kUnknown;
  for (const Name& name : recording.types) of_name_.push_back(number(name.text));
  // Each frame is examined once, and only if a stack reaches it.
  std::vector<std::uint32_t> of_frame(recording.frames.size(), kNotAsked);
  const auto ask = [&](std::uint32_t frame) {
    if (of_frame[frame] != kNotAsked) return of_frame[frame];
    const std::string& function = recording.frames[frame].function;
    if (passes_allocation_on(function)) return of_frame[frame] = kPassesOn;
    const auto type = type_allocated_by(function);
    return of_frame[frame] = type ? number(*type) : kUnknown;
  };
  const auto told_by = [&](const Stack& stack) {
    for (const std::uint32_t location : stack.locations) {
      const auto& frames = recording.locations[location].frames;
      if (frames.empty()) return kUnknown;
      for (const std::uint32_t frame : frames) {
        const std::uint32_t type = ask(frame);
        if (type != kPassesOn) return type;
      }
    }
    return kUnknown;
  };
  for (const Stack& stack : recording.stacks) of_stack_.push_back(told_by(stack));
}

std::uint32_t Types::number(const std::string& name) {
  return base::index_of(known_, name, names_);
}

}  // namespace geiger::profile
