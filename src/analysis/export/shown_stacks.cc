#include "analysis/export/shown_stacks.h"

#include <unordered_map>

#include "analysis/export/frame_name.h"
#include "analysis/profile/labels.h"

namespace geiger::exports {

using profile::kNone;
using profile::Location;

namespace {
constexpr std::string_view kUnnamed = "?";
}

ShownStacks::ShownStacks(const profile::Recording& recording)
    : recording_(recording), by_location_(recording.locations.size()) {}

std::vector<std::uint32_t> ShownStacks::path_of(std::uint32_t stack) {
  std::vector<std::uint32_t> path;
  if (stack >= recording_.stacks.size()) return {mark("[no stack]", no_stack_)};
  if (recording_.stacks[stack].is_truncated) path.push_back(mark("[truncated]", truncated_));
  const auto& locations = recording_.stacks[stack].locations;
  for (auto at = locations.rbegin(); at != locations.rend(); ++at) {
    const std::vector<std::uint32_t>& frames = frames_at(*at);
    path.insert(path.end(), frames.begin(), frames.end());
  }
  if (path.empty()) path.push_back(mark("[no stack]", no_stack_));
  return path;
}

std::vector<std::string> ShownStacks::names_of_functions(present::Names names) const {
  std::vector<std::string> distinct;
  std::unordered_map<std::string_view, std::size_t> known;
  for (const ShownFunction& function : functions_) {
    if (known.try_emplace(function.name, distinct.size()).second) distinct.push_back(function.name);
  }
  const std::vector<std::string> shown = names_for_people(recording_, distinct, names);
  std::vector<std::string> all;
  all.reserve(functions_.size());
  for (const ShownFunction& function : functions_) all.push_back(shown[known.at(function.name)]);
  return all;
}

const std::vector<std::uint32_t>& ShownStacks::frames_at(std::uint32_t index) {
  std::vector<std::uint32_t>& frames = by_location_[index];
  if (!frames.empty()) return frames;
  const Location& location = recording_.locations[index];
  if (location.frames.empty()) {
    const std::string name = profile::address_name(recording_, location);
    frames.push_back(frame({function(name, "", location.module), 0, index, 0}));
  }
  std::uint32_t depth = 0;
  for (auto at = location.frames.rbegin(); at != location.frames.rend(); ++at) {
    const profile::Frame& known = recording_.frames[*at];
    const std::string_view name = known.function.empty() ? kUnnamed : known.function;
    frames.push_back(
        frame({function(name, known.file, location.module), known.line, index, depth++}));
  }
  return frames;
}

std::uint32_t ShownStacks::function(std::string_view name, std::string_view file,
                                    std::uint32_t module) {
  const auto next = static_cast<std::uint32_t>(functions_.size());
  const auto [place, is_new] = known_.try_emplace({std::string(name), std::string(file)}, next);
  if (is_new) functions_.push_back({std::string(name), std::string(file), module});
  return place->second;
}

std::uint32_t ShownStacks::frame(const ShownFrame& frame) {
  frames_.push_back(frame);
  return static_cast<std::uint32_t>(frames_.size() - 1);
}

std::uint32_t ShownStacks::mark(std::string_view name, std::uint32_t& known) {
  if (known == kNone) known = frame({function(name, "", kNone)});
  return known;
}

}  // namespace geiger::exports
