#include "analysis/export/shown_stacks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <unordered_map>

#include "analysis/naming/display_name.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/select/thinned.h"
#include "base/utf8_text.h"
#include "estimation/rounding.h"

namespace geiger::exports {

const profile::Process* first_process(const profile::Recording& recording) {
  const auto& processes = recording.processes;
  if (processes.empty()) return nullptr;
  return &*std::ranges::min_element(processes, {}, &profile::Process::start);
}

std::string program_of(const profile::Recording& recording) {
  const profile::Process* first = first_process(recording);
  return first == nullptr ? "?" : first->executable;
}

std::string line_name(std::string_view name) {
  if (name.empty()) return "?";
  const auto is_control = [](char32_t value) {
    return value < 0x20 || (value >= 0x7f && value < 0xa0);
  };
  std::string out;
  const std::string valid = to_valid_utf8(name);
  for (std::string_view rest = valid; !rest.empty();) {
    const CodePoint point = decode_utf8(rest);
    out += is_control(point.value) ? " " : rest.substr(0, point.length);
    rest.remove_prefix(point.length);
  }
  return out;
}

std::string folded_name(std::string_view name) {
  std::string out = line_name(name);
  std::ranges::replace(out, ';', ':');
  return out;
}

std::vector<std::string> names_for_people(const profile::Recording& recording,
                                          std::span<const std::string> functions,
                                          present::Names names) {
  if (names == present::Names::kFull) return {functions.begin(), functions.end()};
  // Where a lambda is, whichever of its lines comes first.
  std::unordered_map<std::string_view, std::uint32_t> lines;
  for (const profile::Frame& frame : recording.frames) {
    const auto [at, is_new] = lines.try_emplace(frame.function, frame.line);
    if (!is_new) at->second = std::min(at->second, frame.line);
  }
  std::vector<naming::Named> named;
  named.reserve(functions.size());
  for (const std::string& function : functions) {
    const auto line = lines.find(function);
    named.push_back({.demangled = function, .line = line == lines.end() ? 0 : line->second});
  }
  return naming::distinct_names(named);
}

using profile::kNone;
using profile::Location;

namespace {
constexpr std::string_view kUnnamed = "?";
}

ShownStacks::ShownStacks(const profile::Recording& recording)
    : recording_(recording), files_(recording), by_location_(recording.locations.size()) {}

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
  for (const ShownFunction& function : functions_) {
    all.push_back(shown[known.at(function.name)] + files_.mark(function.module));
  }
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
  const auto [place, is_new] =
      known_.try_emplace({std::string(name), std::string(file), files_.mark(module)}, next);
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

std::vector<Life> lives_of(const profile::Recording& recording, const profile::Selection& part) {
  profile::Selection selection = of_kind(part, profile::Kind::kAllocated);
  selection.splits_by_lifetime = true;
  std::vector<Life> lives;
  for (const profile::Sample* sample : profile::choose(recording, selection).samples) {
    estimation::NodeSums sums;
    const estimation::Count kind = profile::count_of_fate(recording, *sample);
    estimation::add(sums, kind, 1);
    lives.push_back({sample, kind, sums.all_bytes(), sums.all_objects()});
  }
  return lives;
}

double effective_rate(const estimation::Count& kind) {
  if (kind.keep >= 1) return kind.lambda;
  const auto size = static_cast<double>(estimation::tried_bytes(kind.size));
  return -std::log1p(-inclusion_probability(kind)) / size;
}

std::vector<Event> events_of(const std::vector<Life>& lives) {
  std::vector<Event> events;
  events.reserve(lives.size() * 2);
  for (std::uint32_t i = 0; i < lives.size(); ++i) {
    const profile::Sample& sample = *lives[i].sample;
    events.push_back({sample.time, i, false});
    if (sample.free_time != 0) events.push_back({std::max(sample.time, sample.free_time), i, true});
  }
  std::ranges::sort(events, {}, [](const Event& event) {
    return std::tuple(event.time, event.is_free, event.life);
  });
  return events;
}

}  // namespace geiger::exports
