#include "analysis/symbolize/outside_names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/symbolize/file.h"
#include "base/text.h"
#include "foreign/open.h"
#include "foreign/process_root.h"

namespace geiger::symbolize {

namespace {

constexpr std::size_t kMaxNameBytes = 4096;

struct Line {
  Address start = 0;
  Address end = 0;
  std::string_view name;
};

/// Takes a hexadecimal number and the blanks after it off the front of `text`.
std::optional<std::uint64_t> take_hex(std::string_view& text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  const std::size_t blanks = std::min(text.find_first_not_of(" \t"), text.size());
  if (blanks == 0) return std::nullopt;
  text.remove_prefix(blanks);
  return value;
}

std::optional<Line> parse_line(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  const auto start = take_hex(text);
  if (!start) return std::nullopt;
  const auto size = take_hex(text);
  if (!size || text.empty() || *size > ~*start) return std::nullopt;
  return Line{*start, *start + *size, text.substr(0, kMaxNameBytes)};
}

std::vector<Line> parse_lines(std::string_view map) {
  std::vector<Line> lines;
  while (!map.empty()) {
    if (const auto line = parse_line(base::take_part(map))) lines.push_back(*line);
  }
  return lines;
}

/// The first index >= `from` that has no name yet, with the paths shortened so
/// that overlapping lines cost no more than disjoint ones.
std::size_t next_unnamed(std::vector<std::size_t>& next, std::size_t from) {
  std::size_t root = from;
  while (next[root] != root) root = next[root];
  while (next[from] != root) from = std::exchange(next[from], root);
  return root;
}

bool is_trusted(const struct stat& status, const MapOwner& owner) {
  const bool is_ours =
      status.st_uid == ::geteuid() || status.st_uid == 0 || status.st_uid == owner.user;
  // Whole seconds: file systems round times down.
  const bool is_recent =
      static_cast<Nanoseconds>(status.st_mtim.tv_sec) + 1 >= owner.not_before / 1'000'000'000;
  return S_ISREG(status.st_mode) && is_ours && is_recent &&
         static_cast<std::uint64_t>(status.st_size) <= kMaxPerfMapBytes;
}

std::string path_in(const std::string& directory, const MapOwner& owner) {
  return directory + "/perf-" + std::to_string(owner.pid) + ".map";
}

/// A file as the process sees it, which may have a /tmp of its own.
base::UniqueFd open_in_its_root(const std::string& path, const MapOwner& owner) {
  if (owner.here == 0) return {};
  const auto root = foreign::ProcessRoot::open(owner.here);
  return root ? foreign::reopen_regular(root->open_path(path, O_PATH | O_NOFOLLOW), O_RDONLY)
              : base::UniqueFd();
}

/// The map if it can be trusted; else a closed descriptor.
base::UniqueFd trusted(base::UniqueFd file, const MapOwner& owner) {
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return {};
  return is_trusted(status, owner) ? std::move(file) : base::UniqueFd();
}

base::UniqueFd open_here(const std::string& path, const MapOwner& owner) {
  return trusted(foreign::open_regular(path, O_RDONLY | O_NOFOLLOW), owner);
}

}  // namespace

std::optional<std::string> read_perf_map(const std::string& directory, const MapOwner& owner) {
  const std::string path = path_in(directory, owner);
  base::UniqueFd file = trusted(open_in_its_root(path, owner), owner);
  if (!file.is_open()) file = open_here(path, owner);
  if (!file.is_open()) return std::nullopt;
  return read_all(file, kMaxPerfMapBytes);
}

void remove_perf_map(const std::string& directory, const MapOwner& owner) {
  const std::string path = path_in(directory, owner);
  if (open_here(path, owner).is_open()) ::unlink(path.c_str());
}

std::vector<std::string_view> look_up_perf_map(std::string_view map,
                                               std::span<const Address> addresses) {
  std::vector<std::string_view> names(addresses.size());
  std::vector<std::size_t> next(addresses.size() + 1);
  std::iota(next.begin(), next.end(), std::size_t{0});
  const std::vector<Line> lines = parse_lines(map);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    // A return address lies after its call, maybe after the function's end.
    const auto first = std::upper_bound(addresses.begin(), addresses.end(), line->start);
    const auto last = std::upper_bound(first, addresses.end(), line->end);
    const auto end = static_cast<std::size_t>(last - addresses.begin());
    auto i = next_unnamed(next, static_cast<std::size_t>(first - addresses.begin()));
    for (; i < end; i = next_unnamed(next, i)) {
      names[i] = line->name;
      next[i] = i + 1;
    }
  }
  return names;
}

namespace {

/// What V8 calls functions: since 10 ("JS:"), and before.
constexpr std::array<std::string_view, 5> kScriptTags{
    "JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};
/// Where the place begins after a name, which may have blanks itself ("get size").
constexpr std::array<std::string_view, 4> kPlaceStarts{" /", " node:", " file:///", " http"};

/// Takes ":12" off the end.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto number = base::number_in<std::uint32_t>(text.substr(colon + 1));
  if (number) text = text.substr(0, colon);
  return number;
}

struct Place {
  std::string_view file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

/// "/srv/app.js:12:17"; releases before 11 have no column.
std::optional<Place> parse_place(std::string_view text) {
  const auto last = take_number(text);
  if (!last || text.empty()) return std::nullopt;
  const auto line = take_number(text);
  constexpr std::string_view kScheme = "file://";
  if (text.starts_with(kScheme)) text.remove_prefix(kScheme.size());
  return line ? Place{text, *line, *last} : Place{text, *last, 0};
}

std::size_t start_of_place(std::string_view text) {
  std::size_t first = std::string_view::npos;
  for (const std::string_view start : kPlaceStarts) first = std::min(first, text.find(start));
  return first != std::string_view::npos ? first : text.rfind(' ');
}

std::string script_function(std::string_view name, const Place& place) {
  if (!name.empty()) return std::string(name);
  // The code of a file outside of its functions is one that begins with the file.
  return place.line == 1 && place.column <= 1 ? "<module>" : "<anonymous>";
}

std::optional<profile::Frame> script_frame(std::string_view name) {
  const auto* tag = std::ranges::find_if(
      kScriptTags, [&](std::string_view candidate) { return name.starts_with(candidate); });
  if (tag == kScriptTags.end()) return std::nullopt;
  name.remove_prefix(tag->size());
  if (!name.empty() && std::string_view("~^+*'-").find(name.front()) != std::string_view::npos) {
    name.remove_prefix(1);
  }
  const std::size_t blank = start_of_place(name);
  if (blank == std::string_view::npos) return std::nullopt;
  const auto place = parse_place(name.substr(blank + 1));
  if (!place) return std::nullopt;
  const std::string function = script_function(name.substr(0, blank), *place);
  return profile::Frame{function, function, std::string(place->file), place->line};
}

/// "app.Leak.remember(int)" of "void app.Leak.remember(int)": one blank before the parameters, and
/// a class before the method. C++ has "::" there.
std::optional<std::string_view> java_method(std::string_view name) {
  const std::size_t open = name.find('(');
  if (open == std::string_view::npos || !name.ends_with(')') ||
      name.find("::") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t blank = name.find(' ');
  if (blank >= open || name.rfind(' ', open) != blank) return std::nullopt;
  const std::string_view method = name.substr(blank + 1);
  return method.substr(0, open - blank - 1).find('.') != std::string_view::npos
             ? std::optional(method)
             : std::nullopt;
}

}  // namespace

profile::Frame jit_frame(std::string_view name) {
  if (auto frame = script_frame(name)) return std::move(*frame);
  const std::string function(java_method(name).value_or(name));
  return {function, function, "", 0};
}

namespace {

using profile::Recording;

/// The trace belongs to the user that the process ran as.
MapOwner map_owner(const profile::Process& process) {
  struct stat trace {};
  const bool has_trace = ::stat(process.trace_path.c_str(), &trace) == 0;
  return {process.own_pid(), process.pid, process.start_realtime, has_trace ? trace.st_uid : 0};
}

/// Names `locations`, in the order of their addresses, where they have no name yet.
void name_from_map(const Recording& recording, const std::string& directory, const MapOwner& owner,
                   std::span<const std::uint32_t> locations, OutsideNames& names) {
  const auto map = read_perf_map(directory, owner);
  if (!map) return;
  std::vector<Address> addresses;
  addresses.reserve(locations.size());
  for (const std::uint32_t index : locations) {
    addresses.push_back(recording.locations[index].vaddr);
  }
  const std::vector<std::string_view> found = look_up_perf_map(*map, addresses);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i].empty()) names.try_emplace(locations[i], found[i]);
  }
}

void name_process(const Recording& recording, const std::string& directory, std::uint32_t process,
                  std::vector<std::uint32_t>& locations, OutsideNames& names) {
  if (process >= recording.processes.size()) return;
  std::sort(locations.begin(), locations.end(), [&](std::uint32_t a, std::uint32_t b) {
    return recording.locations[a].vaddr < recording.locations[b].vaddr;
  });
  const profile::Process& image = recording.processes[process];
  const MapOwner owner = map_owner(image);
  name_from_map(recording, directory, owner, locations, names);
  // What was compiled before the fork is in the map of the parent.
  if (image.is_fork_child) {
    const MapOwner parent{.pid = image.parent_pid, .user = owner.user};
    name_from_map(recording, directory, parent, locations, names);
  }
}

}  // namespace

OutsideNames name_outside(const Recording& recording, const std::string& directory,
                          std::span<const std::uint32_t> locations) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_process;
  for (const std::uint32_t index : locations) {
    by_process[recording.locations[index].process].push_back(index);
  }
  OutsideNames names;
  for (auto& [process, of_process] : by_process) {
    name_process(recording, directory, process, of_process, names);
  }
  return names;
}

void remove_map_of(const profile::Process& process, const std::string& directory) {
  remove_perf_map(directory, map_owner(process));
}

}  // namespace geiger::symbolize
