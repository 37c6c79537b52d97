#include "analysis/profile/frames/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/profile/frames/frame_rules.h"
#include "base/check.h"

namespace geiger::profile {

namespace {

struct Key {
  std::string_view name;
  std::uint32_t module;
  std::string_view script;    ///< Used instead of the module of frames that have none.
  std::uint32_t script_line;  ///< Of functions without a name: nothing else distinguishes them.
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    const std::hash<std::string_view> hash;
    return (hash(key.name) * 31 + key.module) * 31 + hash(key.script) + key.script_line;
  }
};

Key key_of(const Frame& frame, std::uint32_t module) {
  Key key{frame.function, module, {}, 0};
  if (module != kNone || !is_script(frame.file)) return key;
  key.script = frame.file;
  if (frame.function.front() == '<') key.script_line = frame.line;
  return key;
}

/// Programs that run others' files: what was started names a script, not them.
bool runs_scripts(std::string_view path) {
  constexpr std::array<std::string_view, 16> kInterpreters{
      "python", "perl", "ruby",  "node", "bash",    "dash",   "zsh",      "lua",
      "php",    "tcl",  "guile", "java", "busybox", "toybox", "ld-linux", "qemu-"};
  const std::string_view file = file_name_of(path);
  return std::ranges::any_of(kInterpreters,
                             [&](std::string_view start) { return file.starts_with(start); });
}

/// What the processes of each executable were started as; empty where they differ.
std::unordered_map<std::string_view, std::string_view> started_names(const Recording& recording) {
  std::unordered_map<std::string_view, std::string_view> names;
  for (const Process& process : recording.processes) {
    const bool is_host = process.pid == 0;
    if (is_host || process.started_as.empty() || runs_scripts(process.executable)) continue;
    const auto [known, is_new] = names.try_emplace(process.executable, process.started_as);
    if (!is_new && known->second != process.started_as) known->second = {};
  }
  return names;
}

/// The end of a path with this many folders; the whole path if it has fewer.
std::string_view with_folders(std::string_view path, std::size_t folders) {
  std::size_t at = path.size();
  for (std::size_t i = 0; i <= folders && at != std::string_view::npos && at > 0; ++i) {
    at = path.rfind('/', at - 1);
  }
  return at == std::string_view::npos || at == 0 ? path : path.substr(at + 1);
}

/// Names of files that have one name: by as many folders as tell their paths apart, and by build
/// ids.
std::map<std::uint32_t, std::string> distinct_names(const Recording& recording,
                                                    const std::vector<std::uint32_t>& modules) {
  std::map<std::string_view, std::uint32_t> of_path;
  for (const std::uint32_t module : modules) ++of_path[recording.modules[module].path];
  std::size_t folders = 0;
  for (bool differ = false; !differ; ++folders) {
    std::set<std::string_view> ends;
    bool has_more = false;
    for (const auto& [path, builds] : of_path) {
      ends.insert(with_folders(path, folders));
      has_more |= with_folders(path, folders) != path;
    }
    differ = ends.size() == of_path.size() || !has_more;
  }
  std::map<std::uint32_t, std::string> names;
  for (const std::uint32_t module : modules) {
    constexpr std::size_t kDigits = 8;
    const Module& file = recording.modules[module];
    std::string& name = names[module] = with_folders(file.path, folders - 1);
    if (of_path[file.path] > 1 && !file.build_id.empty()) {
      name += "@" + file.build_id.substr(0, kDigits);
    }
  }
  return names;
}

/// The first module of each one's file.
std::vector<std::uint32_t> first_modules(const Recording& recording) {
  std::map<std::pair<std::string_view, ModuleKind>, std::uint32_t> known;
  std::vector<std::uint32_t> first;
  first.reserve(recording.modules.size());
  for (const Module& module : recording.modules) {
    const auto next = static_cast<std::uint32_t>(first.size());
    first.push_back(known.try_emplace({module.path, module.kind}, next).first->second);
  }
  // A path, by its first module, and a process: the build that it ran.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> builds;
  std::set<std::uint32_t> reused;
  for (const Location& location : recording.locations) {
    if (location.module == kNone) continue;
    const std::uint32_t path = first[location.module];
    const auto build = builds.try_emplace({path, location.process}, location.module).first;
    if (build->second != location.module) reused.insert(path);
  }
  for (std::uint32_t i = 0; i < first.size(); ++i) {
    if (reused.contains(first[i])) first[i] = i;
  }
  for (std::uint32_t i = 0; i < first.size(); ++i) {
    const std::uint32_t release_of = recording.modules[i].release_of;
    if (release_of != kNone) first[i] = first[release_of];
  }
  return first;
}

}  // namespace

ModuleFiles::ModuleFiles(const Recording& recording)
    : first_(first_modules(recording)), has_namesakes_(first_.size()) {
  const auto started = started_names(recording);
  std::map<std::string_view, std::vector<std::uint32_t>> namesakes;
  names_.reserve(first_.size());
  for (std::uint32_t i = 0; i < first_.size(); ++i) {
    const std::string& path = recording.modules[i].path;
    const auto known = started.find(path);
    const bool is_known = known != started.end() && !known->second.empty();
    names_.emplace_back(is_known ? known->second : place_name_of(path));
    if (first_[i] == i) namesakes[names_.back()].push_back(i);
  }
  std::map<std::uint32_t, std::string> distinct;
  for (const auto& [name, modules] : namesakes) {
    if (modules.size() > 1) distinct.merge(distinct_names(recording, modules));
  }
  for (auto& [module, name] : distinct) {
    names_[module] = std::move(name);
    has_namesakes_[module] = true;
  }
}

std::string ModuleFiles::mark(std::uint32_t module) const {
  const bool has_mark = module != kNone && has_namesakes_[first_[module]];
  return has_mark ? " [" + name(module) + "]" : "";
}

const Process& main_process(const Recording& recording) {
  GEIGER_CHECK(!recording.processes.empty());
  std::vector<std::uint64_t> samples(recording.processes.size());
  for (const Sample& sample : recording.samples) ++samples[sample.process];
  for (const Tally& tally : recording.tallies) {
    samples[tally.alike.process] += tally.allocated;
  }
  std::size_t main = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const bool is_first = recording.processes[i].start < recording.processes[main].start;
    if (samples[i] > samples[main] || (samples[i] == samples[main] && is_first)) main = i;
  }
  return recording.processes[main];
}

std::string_view program_name(const Process& process) {
  return process.started_as.empty() ? file_name_of(process.executable) : process.started_as;
}

std::string_view other_allocator(const Process& process) {
  const std::string_view file = file_name_of(process.allocator);
  return file.starts_with("libc.so") || file.starts_with("libc-") ? "" : file;
}

std::string address_name(const Recording& recording, const Location& location) {
  if (location.module == kNone) return fmt::format("{:#x}", location.vaddr);
  const Module& module = recording.modules[location.module];
  return fmt::format("{}+{:#x}", file_name_of(module.path), location.vaddr);
}

Labels::Labels(const Recording& recording)
    : labels_{{.name = "[no stack]"}, {.name = "[truncated]"}, {.name = "[runtime]"}},
      files_(recording) {
  // Keys are views into the recording, which outlives this constructor.
  std::unordered_map<Key, std::uint32_t, KeyHash> known;
  starts_.reserve(recording.locations.size() + 1);
  for (std::uint32_t index = 0; index < recording.locations.size(); ++index) {
    const Location& location = recording.locations[index];
    const std::uint32_t module =
        location.module == kNone ? kNone : files_.first_of(location.module);
    starts_.push_back(static_cast<std::uint32_t>(ids_.size()));
    for (const std::uint32_t frame : location.frames) {
      const std::string& function = recording.frames[frame].function;
      if (function.empty()) continue;
      const auto next = static_cast<std::uint32_t>(labels_.size());
      // Builds of a file share functions, not addresses.
      const std::uint32_t build = is_address_name(function) ? location.module : module;
      const Key key = key_of(recording.frames[frame], build);
      const auto [place, is_new] = known.try_emplace(key, next);
      if (is_new) labels_.push_back({function, module, frame, false});
      ids_.push_back(place->second);
      frames_.push_back(frame);
    }
    if (ids_.size() == starts_.back()) {
      ids_.push_back(static_cast<std::uint32_t>(labels_.size()));
      labels_.push_back({address_name(recording, location), module, index, true});
      frames_.push_back(kNone);
    }
  }
  starts_.push_back(static_cast<std::uint32_t>(ids_.size()));
}

std::span<const std::uint32_t> Labels::of(std::uint32_t location) const {
  const std::uint32_t start = starts_[location];
  return std::span(ids_).subspan(start, starts_[location + 1] - start);
}

std::span<const std::uint32_t> Labels::frames_of(std::uint32_t location) const {
  return std::span(frames_).subspan(starts_[location], of(location).size());
}

void Labels::collect(const Recording& recording, std::uint32_t stack,
                     std::vector<std::uint32_t>& out) const {
  out.clear();
  if (stack != kNone) {
    for (const std::uint32_t location : recording.stacks[stack].locations) {
      const auto labels = of(location);
      out.insert(out.end(), labels.begin(), labels.end());
    }
  }
  if (out.empty()) out.push_back(kNoStack);
}

void Labels::collect_frames(const Recording& recording, std::uint32_t stack,
                            std::vector<std::uint32_t>& out) const {
  out.clear();
  if (stack != kNone) {
    for (const std::uint32_t location : recording.stacks[stack].locations) {
      const auto frames = frames_of(location);
      out.insert(out.end(), frames.begin(), frames.end());
    }
  }
  if (out.empty()) out.push_back(kNone);
}

std::string nearest_callers(const Labels& labels, std::span<const std::uint32_t> path) {
  constexpr std::size_t kCallersShown = 3;
  std::string text;
  const std::size_t end = std::min(path.size(), kCallersShown + 1);
  for (std::size_t i = 1; i < end; ++i) {
    if (i > 1) text += " < ";
    text += labels[path[i]].name;
  }
  return text;
}

SourceLine source_line_of(const Recording& recording, std::uint32_t frame) {
  if (frame == kNone) return {};
  const Frame& known = recording.frames[frame];
  return {known.file, known.line, 0, known.line, known.line};
}

void SourceLine::add_other(std::string_view other_file, std::uint32_t other_line) {
  ++others;
  const bool is_placed = first != 0 && other_line != 0 && other_file == file;
  first = is_placed ? std::min(first, other_line) : 0;
  last = is_placed ? std::max(last, other_line) : 0;
}

std::string text_of(const SourceLine& where) {
  if (where.file.empty()) return "";
  std::string text(place_name_of(where.file));
  const bool is_range = where.others != 0 && where.first != 0 &&
                        where.last - where.first + 1 <= 2 * (where.others + 1);
  if (is_range) return text + fmt::format(":{}-{}", where.first, where.last);
  if (where.line != 0) text += fmt::format(":{}", where.line);
  if (where.others != 0) text += fmt::format(" +{}", where.others);
  return text;
}

}  // namespace geiger::profile
