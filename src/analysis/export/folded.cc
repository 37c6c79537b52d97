#include "analysis/export/folded.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/export/frame_name.h"
#include "analysis/profile/labels.h"
#include "base/index_of.h"
#include "estimation/rounding.h"

namespace geiger::exports {
namespace {

/// A stack as indexes of names, root first.
struct Path {
  std::vector<std::uint32_t> names;
  double bytes = 0;
};

class Folder {
 public:
  explicit Folder(const profile::Recording& recording)
      : recording_(recording), by_location_(recording.locations.size()) {}

  std::vector<std::uint32_t> path_of(std::uint32_t stack) {
    std::vector<std::uint32_t> path;
    if (stack >= recording_.stacks.size()) return {intern("[no stack]")};
    if (recording_.stacks[stack].is_truncated) path.push_back(intern("[truncated]"));
    const auto& locations = recording_.stacks[stack].locations;
    for (auto at = locations.rbegin(); at != locations.rend(); ++at) {
      const std::vector<std::uint32_t>& names = names_of(*at);
      path.insert(path.end(), names.begin(), names.end());
    }
    if (path.empty()) path.push_back(intern("[no stack]"));
    return path;
  }

  /// Gives all functions their names and renumbers them in the order of these, so that paths
  /// compare by number.
  void name_functions(present::Names names, std::vector<Path>& paths) {
    std::vector<std::string> shown = distinct_lines(names);
    std::vector<std::uint32_t> order(shown.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](std::uint32_t i) -> const std::string& { return shown[i]; });
    std::vector<std::uint32_t> rank(shown.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      names_.push_back(std::move(shown[order[i]]));
      rank[order[i]] = i;
    }
    for (Path& path : paths) {
      for (std::uint32_t& name : path.names) name = rank[name];
    }
  }

  /// Once they are named, by their new numbers.
  [[nodiscard]] const std::string& name(std::uint32_t id) const { return names_[id]; }

 private:
  /// Names of a location, outermost first; looked up once.
  const std::vector<std::uint32_t>& names_of(std::uint32_t index) {
    std::vector<std::uint32_t>& names = by_location_[index];
    if (!names.empty()) return names;
    const profile::Location& location = recording_.locations[index];
    if (location.frames.empty()) {
      names.push_back(intern(profile::address_name(recording_, location)));
    }
    for (auto at = location.frames.rbegin(); at != location.frames.rend(); ++at) {
      names.push_back(intern(recording_.frames[*at].function));
    }
    return names;
  }

  std::uint32_t intern(const std::string& function) {
    return base::index_of(ids_, function, functions_);
  }

  /// Readers know functions by nothing but their names: those that differ in what the format cannot
  /// hold get a number.
  std::vector<std::string> distinct_lines(present::Names names) {
    std::vector<std::string> lines = names_for_people(recording_, functions_, names);
    for (std::string& line : lines) line = folded_name(line);
    std::unordered_set<std::string> taken(lines.begin(), lines.end());
    if (taken.size() == lines.size()) return lines;
    std::unordered_set<std::string> met;
    for (std::string& line : lines) {
      if (met.insert(line).second) continue;
      std::string numbered;
      int number = 1;
      do {
        numbered = line + " #" + std::to_string(++number);
      } while (!taken.insert(numbered).second);
      line = std::move(numbered);
    }
    return lines;
  }

  const profile::Recording& recording_;
  std::vector<std::vector<std::uint32_t>> by_location_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::vector<std::string> functions_, names_;
};

std::vector<Path> collect(const profile::Recording& recording, const profile::Profile& profile,
                          Folder& folder) {
  std::unordered_map<std::uint32_t, double> bytes;
  for (const profile::Entry& entry : profile.entries) {
    estimation::NodeSums sums;
    accumulate(sums, entry, recording, profile);
    bytes[entry.stack] += sums.all_bytes();
  }
  std::vector<Path> paths;
  paths.reserve(bytes.size());
  for (const auto& [stack, value] : bytes) paths.push_back({folder.path_of(stack), value});
  return paths;
}

/// Sorts by names and adds up stacks that read alike.
void merge_alike(std::vector<Path>& paths) {
  std::sort(paths.begin(), paths.end(),
            [](const Path& a, const Path& b) { return a.names < b.names; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (kept > 0 && paths[kept - 1].names == paths[i].names) {
      paths[kept - 1].bytes += paths[i].bytes;
    } else if (kept++ != i) {
      paths[kept - 1] = std::move(paths[i]);
    }
  }
  paths.resize(kept);
}

void append_line(std::string& out, const Path& path, std::int64_t bytes, const Folder& folder) {
  for (const std::uint32_t name : path.names) (out += folder.name(name)) += ';';
  out.back() = ' ';
  out += std::to_string(bytes) + "\n";
}

}  // namespace

void write_folded(const profile::Recording& recording, const profile::Profile& profile,
                  const Sink& sink, present::Names names) {
  Folder folder(recording);
  std::vector<Path> paths = collect(recording, profile, folder);
  folder.name_functions(names, paths);
  merge_alike(paths);
  std::vector<double> bytes;
  bytes.reserve(paths.size());
  for (const Path& path : paths) bytes.push_back(path.bytes);
  const std::vector<std::int64_t> rounded = estimation::round_to_total(bytes);
  std::string out;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (rounded[i] > 0) append_line(out, paths[i], rounded[i], folder);
    if (out.size() < kFlushAt) continue;
    sink(out);
    out.clear();
  }
  sink(out);
}

}  // namespace geiger::exports
