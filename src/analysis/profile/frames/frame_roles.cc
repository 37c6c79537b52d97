#include "analysis/profile/frames/frame_roles.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "analysis/profile/frames/labels.h"
#include "analysis/profile/frames/types.h"

namespace geiger::profile {

namespace {

/// Whether functions that node or the JVM compiled have names: then these are what the program is
/// made of, and the machine is what runs them.
bool has_jit_names(const Recording& recording, const Labels& labels) {
  for (std::uint32_t i = 0; i < labels.size(); ++i) {
    const Label& label = labels[i];
    if (label.module != kNone || !label.is_frame() || label.is_location) continue;
    const Frame& frame = recording.frames[label.frame_or_location];
    if (is_script(frame.file) || is_java_method(frame.function)) return true;
  }
  return false;
}

/// The sources that are text and no file, and whose functions are the outermost of stacks: those of
/// programs, as python -c runs them, and of no library.
std::set<std::string_view> outermost_texts(const Recording& recording) {
  std::set<std::string_view> texts;
  for (const Stack& stack : recording.stacks) {
    for (auto location = stack.locations.rbegin(); location != stack.locations.rend(); ++location) {
      const std::uint32_t module = recording.locations[*location].module;
      if (module == kNone || recording.modules[module].kind != ModuleKind::kSource) continue;
      const std::string& path = recording.modules[module].path;
      if (path.starts_with('<') && !path.starts_with("<frozen ")) texts.insert(path);
      break;
    }
  }
  return texts;
}

/// Whether views leave out all frames of such modules.
bool is_excluded(ModuleKind kind, FramesShown frames) {
  if (frames == FramesShown::kMixed) return false;
  return (kind == ModuleKind::kSource) == (frames == FramesShown::kNative);
}

}  // namespace

LabelRoles::LabelRoles(const Recording& recording, const Labels& labels)
    : recording_(recording),
      labels_(labels),
      rules_(rules_of(recording)),
      has_machine_(has_jit_names(recording, labels)),
      own_texts_(outermost_texts(recording)) {
  for (const Process& process : recording.processes) executables_.insert(process.executable);
}

FrameRole LabelRoles::operator[](std::uint32_t number) const {
  const Label& label = labels_[number];
  FrameFacts facts;
  facts.function = label.name;
  if (label.module != kNone) {
    facts.module = recording_.modules[label.module].path;
    facts.kind = recording_.modules[label.module].kind;
    if (has_machine_ && is_virtual_machine(facts.module)) facts.kind = ModuleKind::kInterpreter;
  }
  const bool is_hidden = label.is_frame() && is_excluded(facts.kind, rules_.frames);
  if (is_hidden) return FrameRole::kHidden;
  if (rules_.frames == FramesShown::kNative) facts.kind = ModuleKind::kNative;
  facts.is_executable = executables_.contains(facts.module);
  if (label.is_frame() && !label.is_location)
    facts.file = recording_.frames[label.frame_or_location].file;
  // Code without a module and a name was made at run time: nothing says whose it is.
  const bool is_anonymous = label.is_unnamed() && label.module == kNone;
  if (is_anonymous) return FrameRole::kDispatch;
  const FrameRole role = rules_.role(facts);
  const bool is_own_text = role == FrameRole::kDispatch && own_texts_.contains(facts.module);
  return is_own_text ? FrameRole::kOwn : role;
}

FrameRoles::FrameRoles(const Recording& recording, const Labels& labels)
    : shows_plumbing_(rules_of(recording).shows_plumbing) {
  const LabelRoles roles(recording, labels);
  std::vector<bool> is_standard;  // By module.
  for (const Module& module : recording.modules)
    is_standard.push_back(is_standard_module(module.path));
  for (std::uint32_t i = 0; i < labels.size(); ++i) {
    const Label& label = labels[i];
    roles_.push_back(roles[i]);
    modules_.push_back(label.module);
    is_source_.push_back(label.module != kNone &&
                         recording.modules[label.module].kind == ModuleKind::kSource);
    is_runtime_.push_back(label.module != kNone && is_standard[label.module] &&
                          is_plumbing(roles_.back()));
    is_unnamed_.push_back(label.is_unnamed());
  }
}

std::size_t FrameRoles::blamed(std::span<const std::uint32_t> path) const {
  std::size_t best = path.size();  // Of plumbing.
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (!is_left_out(path[i])) {
      const bool is_library = roles_[path[i]] == FrameRole::kLibrary && !shows_plumbing_;
      if (const std::size_t caller = is_library ? source_caller(path, i) : i; caller != i)
        return caller;
      const std::size_t named = shows_plumbing_ ? i : named_caller(path, i);
      // A part of plumbing that has no name of its own.
      if (!is_left_out(path[named])) return named;
      i = named;
    }
    if (best == path.size() || roles_[path[i]] < roles_[path[best]]) best = i;
  }
  return best;
}

std::size_t FrameRoles::source_caller(std::span<const std::uint32_t> path, std::size_t at) const {
  const auto own = std::ranges::find_if(
      path.subspan(at), [&](std::uint32_t label) { return roles_[label] == FrameRole::kOwn; });
  const bool is_of_source = own != path.end() && is_source_[*own];
  return is_of_source ? static_cast<std::size_t>(own - path.begin()) : at;
}

std::size_t FrameRoles::named_caller(std::span<const std::uint32_t> path, std::size_t at) const {
  for (std::size_t i = at; i < path.size() && modules_[path[i]] == modules_[path[at]]; ++i) {
    if (!is_unnamed_[path[i]]) return i;
  }
  return at;
}

bool FrameRoles::is_of_runtime(std::span<const std::uint32_t> path) const {
  return std::ranges::all_of(path, [&](std::uint32_t label) { return is_runtime_[label]; });
}

std::vector<bool> FrameRoles::shown_of(std::span<const std::uint32_t> path) const {
  const std::size_t first = blamed(path);
  std::vector<bool> shown(path.size());
  std::vector<std::uint32_t> named;  // Modules of callers with names.
  for (std::size_t i = path.size(); i-- > first;) {
    const std::uint32_t module = modules_[path[i]];
    const bool is_known = std::ranges::find(named, module) != named.end();
    const bool gives_way = is_unnamed_[path[i]] && is_known && !shows_plumbing_;
    shown[i] = i == first || (!is_left_out(path[i]) && !gives_way);
    if (shown[i] && !is_unnamed_[path[i]] && !is_known) named.push_back(module);
  }
  return shown;
}

void FrameRoles::keep_shown(std::vector<std::uint32_t>& path) const {
  std::vector<std::uint32_t> none(path.size());
  keep_shown(path, none);
}

void FrameRoles::keep_shown(std::vector<std::uint32_t>& path,
                            std::vector<std::uint32_t>& frames) const {
  if (!shows_plumbing_ && is_of_runtime(path)) {
    frames = {frames[blamed(path)]};
    path = {Labels::kRuntime};
    return;
  }
  const std::vector<bool> shown = shown_of(path);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (!shown[i]) continue;
    path[kept] = path[i];
    frames[kept++] = frames[i];
  }
  path.resize(kept);
  frames.resize(kept);
}

void ShownPath::of(std::uint32_t stack) {
  labels_.collect(recording_, stack, path_);
  labels_.collect_frames(recording_, stack, frames_);
  roles_.keep_shown(path_, frames_);
}

void LinesOfGroups::add(std::uint32_t group, std::uint32_t frame, double bytes) {
  if (frame == kNone || recording_.frames[frame].file.empty()) return;
  const Frame& known = recording_.frames[frame];
  Line& line = lines_[group][{known.file, known.line}];
  line.frame = frame;
  line.bytes += bytes;
}

SourceLine LinesOfGroups::heaviest(std::uint32_t group) const {
  const auto found = lines_.find(group);
  if (found == lines_.end()) return {};
  const Line* most = nullptr;
  for (const auto& [place, line] : found->second) {
    if (most == nullptr || line.bytes > most->bytes) most = &line;
  }
  SourceLine where = source_line_of(recording_, most->frame);
  for (const auto& [place, line] : found->second) {
    if (&line != most) where.add_other(place.first, place.second);
  }
  return where;
}

namespace {

/// Writes the types that stacks contain into the samples, because those frames are often left out.
void keep_types(Recording& recording) {
  const Types types(recording);
  std::vector<std::uint32_t> names(types.size(), kNone);
  const auto keep = [&](std::uint32_t& type, std::uint32_t stack) {
    if (type != kNone) return;
    const std::uint32_t told = types.of(type, stack);
    if (told == Types::kUnknown) return;
    if (names[told] == kNone) {
      names[told] = static_cast<std::uint32_t>(recording.types.size());
      recording.types.push_back({.text = types[told]});
    }
    type = names[told];
  };
  for (std::vector<Sample>* samples : {&recording.samples, &recording.heap_samples}) {
    for (Sample& sample : *samples) keep(sample.type, sample.stack);
  }
  for (Tally& tally : recording.tallies) keep(tally.alike.type, tally.alike.stack);
}

/// Locations with some of their frames: the same places, seen by fewer.
class PartialLocations {
 public:
  explicit PartialLocations(Recording& recording) : recording_(recording) {}

  std::uint32_t with(std::uint32_t location, std::vector<std::uint32_t> frames) {
    const auto next = static_cast<std::uint32_t>(recording_.locations.size());
    const auto [place, is_new] = known_.try_emplace({location, std::move(frames)}, next);
    if (is_new) {
      Location partial = recording_.locations[location];
      partial.frames = place->first.second;
      recording_.locations.push_back(std::move(partial));
    }
    return place->second;
  }

 private:
  Recording& recording_;
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> known_;
};

}  // namespace

void keep_shown_frames(Recording& recording) {
  keep_types(recording);
  const Labels labels(recording);
  const FrameRoles roles(recording, labels);
  PartialLocations partial(recording);
  std::vector<std::uint32_t> path, frames, places;
  for (std::uint32_t i = 0; i < recording.stacks.size(); ++i) {
    labels.collect(recording, i, path);
    labels.collect_frames(recording, i, frames);
    places.resize(path.size());
    std::iota(places.begin(), places.end(), 0U);
    roles.keep_shown(path, places);
    std::vector<std::uint32_t> kept;
    auto place = places.begin();
    std::size_t end = 0;
    for (const std::uint32_t location : recording.stacks[i].locations) {
      const std::size_t all = labels.of(location).size();
      end += all;
      std::vector<std::uint32_t> of_location;
      for (; place != places.end() && *place < end; ++place) of_location.push_back(frames[*place]);
      if (of_location.empty()) continue;
      const bool is_whole = of_location.size() == all;
      kept.push_back(is_whole ? location : partial.with(location, std::move(of_location)));
    }
    recording.stacks[i].locations = std::move(kept);
  }
}

}  // namespace geiger::profile
