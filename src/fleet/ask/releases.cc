#include "fleet/ask/releases.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "analysis/compare/places.h"
#include "analysis/profile/frames/frame_rules.h"

namespace geiger::fleet {
namespace {

using profile::kNone;
using profile::Recording;

/// A module, or a script.
struct ReleasedFile {
  std::string path;
  profile::ModuleKind kind = profile::ModuleKind::kSource;
  std::uint32_t module = kNone;  ///< Of a script none.
  std::set<std::uint32_t> versions;
};

class ReleasedFiles {
 public:
  explicit ReleasedFiles(const Recording& recording) : recording_(recording) {
    for (std::uint32_t i = 0; i < recording.modules.size(); ++i) {
      files_.push_back({recording.modules[i].path, recording.modules[i].kind, i, {}});
    }
    for (const profile::Location& location : recording.locations) {
      if (const std::string* script = script_of(location)) {
        const auto next = static_cast<std::uint32_t>(files_.size());
        if (scripts_.try_emplace(*script, next).second) {
          files_.push_back({*script, profile::ModuleKind::kSource, kNone, {}});
        }
      }
    }
  }

  /// By their name or role.
  using Namesakes =
      std::map<std::pair<profile::ModuleKind, std::string>, std::vector<ReleasedFile>>;

  [[nodiscard]] Namesakes namesakes(const std::set<std::string>& programs) const {
    Namesakes groups;
    for (const ReleasedFile& file : files_) {
      const bool is_program = programs.contains(file.path);
      groups[{file.kind, is_program ? "" : std::string(compare::module_name(file.path))}].push_back(
          file);
    }
    std::erase_if(groups, [](const auto& group) { return group.second.size() < 2; });
    return groups;
  }

  void add(const StackVersions& versions) {
    for (const auto& [stack, version] : versions) {
      for (const std::uint32_t location : recording_.stacks[stack].locations) {
        const std::uint32_t file = file_of(recording_.locations[location]);
        if (file != kNone) files_[file].versions.insert(version);
      }
    }
  }

 private:
  [[nodiscard]] const std::string* script_of(const profile::Location& location) const {
    if (location.module != kNone || location.frames.empty()) return nullptr;
    const std::string& file = recording_.frames[location.frames.front()].file;
    return profile::is_script(file) ? &file : nullptr;
  }
  [[nodiscard]] std::uint32_t file_of(const profile::Location& location) const {
    if (location.module != kNone) return location.module;
    const std::string* const script = script_of(location);
    return script == nullptr ? kNone : scripts_.at(*script);
  }

  const Recording& recording_;
  std::vector<ReleasedFile> files_;  ///< First the modules, in their order.
  std::map<std::string, std::uint32_t> scripts_;
};

/// How many characters two paths have in common at their ends.
std::size_t common_end(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first -
                                  a.rbegin());
}

/// Files that are releases of one.
struct Releases {
  std::vector<ReleasedFile> files;
  std::set<std::uint32_t> versions;

  [[nodiscard]] bool shares_version(const ReleasedFile& file) const {
    return std::ranges::any_of(file.versions,
                               [&](std::uint32_t version) { return versions.contains(version); });
  }
  [[nodiscard]] std::size_t common_end(const ReleasedFile& file) const {
    std::size_t most = 0;
    for (const ReleasedFile& own : files) {
      most = std::max(most, fleet::common_end(own.path, file.path));
    }
    return most;
  }
};

std::vector<Releases> releases_of(std::vector<ReleasedFile> files, const Recording& recording) {
  std::ranges::sort(files, {}, [&](const ReleasedFile& file) {
    const bool has_build = file.module != kNone;
    return std::pair(file.path, has_build ? recording.modules[file.module].build_id : "");
  });
  std::vector<Releases> all;
  for (ReleasedFile& file : files) {
    Releases* best = nullptr;
    std::size_t most = 0;
    for (Releases& each : all) {
      const std::size_t end = each.common_end(file);
      if (each.shares_version(file) || (best != nullptr && end <= most)) continue;
      best = &each;
      most = end;
    }
    if (best == nullptr) best = &all.emplace_back();
    best->versions.insert(file.versions.begin(), file.versions.end());
    best->files.push_back(std::move(file));
  }
  return all;
}

}  // namespace

bool has_namesakes(const Recording& recording, const std::set<std::string>& programs) {
  return !ReleasedFiles(recording).namesakes(programs).empty();
}

void join_releases(Recording& recording, const StackVersions& versions,
                   const std::set<std::string>& programs) {
  ReleasedFiles files(recording);
  files.add(versions);
  std::map<std::string, std::string> scripts;  // By path: that of the last release.
  for (auto& [name, namesakes] : files.namesakes(programs)) {
    for (const Releases& releases : releases_of(std::move(namesakes), recording)) {
      const ReleasedFile& last = releases.files.back();
      for (const ReleasedFile& file : releases.files) {
        if (file.module == kNone) {
          scripts[file.path] = last.path;
        } else if (file.module != last.module) {
          recording.modules[file.module].release_of = last.module;
        }
      }
    }
  }
  for (profile::Frame& frame : recording.frames) {
    if (const auto last = scripts.find(frame.file); last != scripts.end()) {
      frame.file = last->second;
    }
  }
}

}  // namespace geiger::fleet
