#include "analysis/observe/proc_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "base/text.h"

namespace geiger::observe {

namespace {

/// Takes the first word off, and the blanks before it.
std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

/// "Name:   12", and the text after the number.
struct Field {
  std::uint64_t value = 0;
  std::string_view unit;
};
std::optional<Field> field(std::string_view line, std::string_view name) {
  if (!line.starts_with(name) || line.size() == name.size() || line[name.size()] != ':') {
    return std::nullopt;
  }
  line.remove_prefix(name.size() + 1);
  const auto value = base::number_in<std::uint64_t>(next_word(line), 10);
  if (!value) return std::nullopt;
  return Field{*value, next_word(line)};
}

/// "Name:   12 kB" in bytes; no machine has more than the limit.
std::optional<Bytes> kilobytes(std::string_view line, std::string_view name) {
  constexpr std::uint64_t kMostKilobytes = std::uint64_t{1} << 44;
  const auto found = field(line, name);
  if (!found || found->value > kMostKilobytes || found->unit != "kB") return std::nullopt;
  return found->value * kKiB;
}

/// "START-END PERMS OFFSET DEVICE INODE  PATH"
std::optional<Mapping> parse_head(std::string_view line) {
  std::string_view range = next_word(line);
  const std::string_view permissions = next_word(line);
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos || permissions.size() != 4) return std::nullopt;
  const auto start = base::number_in<std::uint64_t>(range.substr(0, dash), 16);
  const auto end = base::number_in<std::uint64_t>(range.substr(dash + 1), 16);
  const auto offset = base::number_in<std::uint64_t>(next_word(line), 16);
  const std::string_view device = next_word(line);
  const auto inode = base::number_in<std::uint64_t>(next_word(line), 10);
  if (!start || !end || !inode || *start >= *end) return std::nullopt;
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  Mapping mapping;
  mapping.start = *start;
  mapping.end = *end;
  mapping.is_readable = permissions[0] == 'r';
  mapping.is_writable = permissions[1] == 'w';
  mapping.is_shared = permissions[3] == 's';
  mapping.offset = offset.value_or(0);
  mapping.device = device;
  mapping.inode = *inode;
  mapping.path = line;
  return mapping;
}

void take_field(std::string_view line, Mapping& mapping) {
  const Bytes size = mapping.end - mapping.start;
  if (const auto resident = kilobytes(line, "Rss")) mapping.resident = std::min(*resident, size);
  if (const auto swapped = kilobytes(line, "Swap")) mapping.swapped = std::min(*swapped, size);
}

}  // namespace

std::optional<Status> parse_status(std::string_view text) {
  Status status;
  bool has_memory = false;
  while (!text.empty()) {
    const std::string_view line = base::take_part(text);
    const auto take = [&](std::string_view name, Bytes& into) {
      const auto value = kilobytes(line, name);
      if (value) into = *value;
      return value.has_value();
    };
    take("VmHWM", status.high_water);
    has_memory |= take("VmRSS", status.counts.resident);
    take("RssAnon", status.counts.anonymous);
    take("RssFile", status.counts.file);
    take("RssShmem", status.counts.shared);
    take("VmSwap", status.counts.swapped);
    if (const auto mode = field(line, "Seccomp")) status.confinement.mode = mode->value;
    if (const auto count = field(line, "Seccomp_filters")) {
      status.confinement.filters = count->value;
    }
  }
  if (!has_memory) return std::nullopt;
  status.high_water = std::max(status.high_water, status.counts.resident);
  return status;
}

std::vector<Mapping> parse_smaps(std::string_view text) {
  std::vector<Mapping> mappings;
  bool is_known = false;  // Fields belong to the mapping above them.
  while (!text.empty()) {
    const std::string_view line = base::take_part(text);
    const bool is_field = !line.empty() && line[0] >= 'A' && line[0] <= 'Z';
    auto mapping = is_field ? std::nullopt : parse_head(line);
    if (!mapping) {
      if (is_known) take_field(line, mappings.back());
      continue;
    }
    is_known = mappings.empty() || mappings.back().end <= mapping->start;
    if (is_known) mappings.push_back(std::move(*mapping));
  }
  return mappings;
}

std::optional<WaitingPlace> parse_waiting_place(std::string_view text) {
  // "NUMBER ARGUMENTS... SP PC", "-1 SP PC" outside of calls, "running".
  std::string_view line = base::take_part(text);
  std::vector<std::string_view> words;
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    words.push_back(word);
  }
  if (words.size() < 3) return std::nullopt;
  const auto address = [](std::string_view word) -> std::optional<std::uint64_t> {
    if (!word.starts_with("0x")) return std::nullopt;
    return base::number_in<std::uint64_t>(word.substr(2), 16);
  };
  const auto stack = address(words[words.size() - 2]), code = address(words.back());
  if (!stack || !code) return std::nullopt;
  return WaitingPlace{*stack, *code};
}

std::optional<std::uint64_t> parse_switches(std::string_view text) {
  std::optional<std::uint64_t> given_up, lost;
  while (!text.empty()) {
    std::string_view line = base::take_part(text);
    const std::string_view key = next_word(line);
    const auto count = [&] { return base::number_in<std::uint64_t>(next_word(line)); };
    if (key == "voluntary_ctxt_switches:") given_up = count();
    if (key == "nonvoluntary_ctxt_switches:") lost = count();
  }
  if (!given_up || !lost) return std::nullopt;
  return *given_up + *lost;
}

namespace {

constexpr std::size_t kMostThreads = 1000;
constexpr std::size_t kMostText = std::size_t{64} << 20;

std::optional<std::string> read_all(int fd) {
  std::string text;
  std::size_t used = 0;
  while (true) {
    if (text.size() - used < 4096) text.resize(std::max<std::size_t>(8192, 2 * text.size()));
    const ssize_t count = ::read(fd, text.data() + used, text.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    used += static_cast<std::size_t>(count);
    if (count == 0 || used >= kMostText) break;
  }
  text.resize(used);
  return text;
}

}  // namespace

ProcessFiles::ProcessFiles(pid_t pid)
    : directory_(::open(fmt::format("/proc/{}", pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
}

base::UniqueFd ProcessFiles::open(const char* name) const {
  return base::UniqueFd(::openat(directory_.get(), name, O_RDONLY | O_CLOEXEC));
}

std::optional<std::string> ProcessFiles::read(const char* name) const {
  const base::UniqueFd file = open(name);
  if (!file.is_open()) return std::nullopt;
  return read_all(file.get());
}

std::string ProcessFiles::link(const char* name) const {
  std::string target(PATH_MAX, '\0');
  const ssize_t bytes = ::readlinkat(directory_.get(), name, target.data(), target.size());
  target.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
  return target;
}

std::optional<Status> ProcessFiles::status() const {
  const auto text = read("status");
  return text ? parse_status(*text) : std::nullopt;
}

std::vector<Address> ProcessFiles::stack_pointers() const {
  std::vector<Address> pointers;
  const int fd = ::openat(directory_.get(), "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(fd < 0 ? nullptr : ::fdopendir(fd), &::closedir);
  if (!tasks) return pointers;
  for (const dirent* entry = ::readdir(tasks.get()); entry != nullptr;
       entry = ::readdir(tasks.get())) {
    if (entry->d_name[0] == '.' || pointers.size() >= kMostThreads) continue;
    const auto text = read(fmt::format("task/{}/syscall", entry->d_name).c_str());
    if (!text) continue;
    if (const auto place = parse_waiting_place(*text)) pointers.push_back(place->stack_pointer);
  }
  return pointers;
}

std::uint64_t oom_kills() {
  constexpr std::string_view kCounter = "oom_kill ";
  std::ifstream counters("/proc/vmstat");
  for (std::string line; std::getline(counters, line);) {
    if (!line.starts_with(kCounter)) continue;
    return base::number_in<std::uint64_t>(line.substr(kCounter.size())).value_or(0);
  }
  return 0;
}

}  // namespace geiger::observe
