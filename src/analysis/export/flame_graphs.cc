#include "analysis/export/flame_graphs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/export/shown_stacks.h"
#include "analysis/export/streams/sink.h"
#include "analysis/profile/frames/labels.h"
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
      : recording_(recording), files_(recording), by_location_(recording.locations.size()) {}

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
      names.push_back(intern(profile::address_name(recording_, location), location.module));
    }
    for (auto at = location.frames.rbegin(); at != location.frames.rend(); ++at) {
      names.push_back(intern(recording_.frames[*at].function, location.module));
    }
    return names;
  }

  /// Functions of one name are one, but for those of modules of one name.
  std::uint32_t intern(const std::string& name, std::uint32_t module = profile::kNone) {
    const std::string mark = files_.mark(module);
    const std::uint32_t function = base::index_of(known_, name, functions_);
    return base::index_of(ids_, {function, mark}, marked_);
  }

  /// Readers know functions by nothing but their names: those that differ in what the format cannot
  /// hold get a number.
  std::vector<std::string> distinct_lines(present::Names names) {
    const std::vector<std::string> shown = names_for_people(recording_, functions_, names);
    std::vector<std::string> lines;
    for (const auto& [function, mark] : marked_)
      lines.push_back(folded_name(shown[function] + mark));
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
  const profile::ModuleFiles files_;
  std::vector<std::vector<std::uint32_t>> by_location_;
  std::unordered_map<std::string, std::uint32_t> known_;
  std::vector<std::string> functions_;
  /// Functions, each with the mark of its module: what has an id.
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> ids_;
  std::vector<std::pair<std::uint32_t, std::string>> marked_;
  std::vector<std::string> names_;
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

namespace {

/// A stack by its functions, root first.
struct Row {
  std::vector<std::uint32_t> functions;
  std::int64_t weight = 0;
};

std::vector<Row> rows_of(const profile::Recording& recording, const TitledProfile& titled,
                         ShownStacks& shown) {
  const std::vector<StackSums> stacks = sums_in_order(recording, *titled.profile);
  const std::vector<std::int64_t> weights =
      titled.weight == Weight::kBytes ? rounded_bytes(stacks) : rounded_objects(stacks);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    if (weights[i] <= 0) continue;
    Row row{shown.path_of(stacks[i].stack), weights[i]};
    for (std::uint32_t& frame : row.functions) frame = shown.frames()[frame].function;
    rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, {}, &Row::functions);
  return rows;
}

void write_functions(present::JsonWriter& json, const ShownStacks& shown, present::Names names,
                     const Sink& sink) {
  const std::vector<std::string> texts = shown.names_of_functions(names);
  json.key("shared").begin_object().key("frames").begin_array();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string& file = shown.functions()[i].file;
    json.begin_object().field("name", texts[i]);
    if (!file.empty()) json.field("file", file);
    json.end_object();
    pass_on(json, sink);
  }
  json.end_array().end_object();
}

void write_profile(present::JsonWriter& json, const TitledProfile& titled,
                   const std::vector<Row>& rows, const Sink& sink) {
  const auto total = std::transform_reduce(rows.begin(), rows.end(), std::int64_t{0}, std::plus<>{},
                                           [](const Row& row) { return row.weight; });
  json.begin_object().field("type", "sampled").field("name", titled.title);
  json.field("unit", titled.weight == Weight::kBytes ? "bytes" : "none");
  json.field("startValue", 0).field("endValue", total);
  json.array("samples", rows, [&](const Row& row) {
    json.begin_array();
    for (const std::uint32_t function : row.functions) json.integer(function);
    json.end_array();
    pass_on(json, sink);
  });
  json.array("weights", rows, [&](const Row& row) {
    json.signed_integer(row.weight);
    pass_on(json, sink);
  });
  json.end_object();
}

}  // namespace

void write_speedscope(const profile::Recording& recording, std::span<const TitledProfile> profiles,
                      const std::string& name, const Sink& sink, present::Names names) {
  ShownStacks shown(recording);
  std::vector<std::vector<Row>> rows;
  for (const TitledProfile& titled : profiles) rows.push_back(rows_of(recording, titled, shown));
  present::JsonWriter json;
  json.begin_object();
  json.field("$schema", "https://www.speedscope.app/file-format-schema.json");
  json.field("exporter", "geiger").field("name", name).field("activeProfileIndex", 0);
  write_functions(json, shown, names, sink);
  json.key("profiles").begin_array();
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    write_profile(json, profiles[i], rows[i], sink);
  }
  json.end_array().end_object();
  sink(json.take());
}

}  // namespace geiger::exports
