#include "analysis/symbolize/perf_map.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "analysis/symbolize/file.h"
#include "base/parts.h"
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

}  // namespace geiger::symbolize
