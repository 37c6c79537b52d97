#include "inject/copy_checks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include "base/text.h"

namespace geiger::inject {

namespace {

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// A file with a number; nothing: there is none, or "max".
std::optional<std::uint64_t> number_of(const std::filesystem::path& path) {
  std::string text = text_of(path);
  text = text.substr(0, text.find('\n'));
  return base::number_in<std::uint64_t>(std::string_view(text));
}

/// What the group and those around it leave.
std::uint64_t left_in_groups(std::filesystem::path group, const std::filesystem::path& root,
                             const char* limit, const char* usage, std::uint64_t left) {
  while (true) {
    const auto most = number_of(group / limit), used = number_of(group / usage);
    if (most && used) left = std::min(left, *most - std::min(*most, *used));
    if (group == root || !group.has_parent_path() || group == group.parent_path()) return left;
    group = group.parent_path();
  }
}

/// Lines "0::/PATH" of version 2, "4:memory:/PATH" of version 1.
std::uint64_t left_for(pid_t pid, std::uint64_t left) {
  std::ifstream groups(fmt::format("/proc/{}/cgroup", pid));
  for (std::string line; std::getline(groups, line);) {
    const std::size_t path = line.find(":/");
    if (path == std::string::npos) continue;
    const std::string kind = line.substr(0, path), below = line.substr(path + 2);
    if (kind == "0:") {
      for (const std::filesystem::path root : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
        left = left_in_groups(root / below, root, "memory.max", "memory.current", left);
      }
    } else if (kind.ends_with(":memory")) {
      const std::filesystem::path root = "/sys/fs/cgroup/memory";
      left = left_in_groups(root / below, root, "memory.limit_in_bytes", "memory.usage_in_bytes",
                            left);
    }
  }
  return left;
}

}  // namespace

std::optional<std::uint64_t> kilobytes_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = base::take_part(text);
    if (!line.starts_with(name) || !line.substr(name.size()).starts_with(':')) continue;
    line.remove_prefix(std::min(line.size(), line.find_first_of("0123456789")));
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error == std::errc{}) return number * 1024;
  }
  return std::nullopt;
}

base::Outcome<void> check_room(pid_t pid) {
  const auto needed = kilobytes_of(text_of(fmt::format("/proc/{}/status", pid)), "RssAnon");
  const auto free = kilobytes_of(text_of("/proc/meminfo"), "MemAvailable");
  if (!needed || !free) {
    return base::Failure{
        fmt::format("it is not known whether there is memory for a copy of process {}", pid)};
  }
  constexpr std::uint64_t kMiB = 1U << 20;
  const std::uint64_t left = left_for(pid, *free);
  // For page tables too.
  if (left >= *needed + *needed / 100 + 16 * kMiB) return {};
  return base::Failure{
      fmt::format("process {} may write {} MiB anew while a copy of it exists, and {} MiB are free "
                  "(MemAvailable, or the limit of "
                  "its control group)",
                  pid, *needed / kMiB, left / kMiB)};
}

base::Outcome<void> check_company(pid_t pid, const ProcessFacts& facts) {
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  const auto its = std::filesystem::read_symlink(fmt::format("/proc/{}/ns/pid", pid), error);
  if (error || own != its || pid == 1) {
    return base::Failure{
        fmt::format("process {} is not copied: it is in another pid namespace, or the first one of "
                    "its own, where nobody may "
                    "expect an orphan",
                    pid)};
  }
  if (facts.confinement.mode == 0) return {};
  return base::Failure{
      fmt::format("process {} is not copied: it filters its system calls (seccomp)", pid)};
}

}  // namespace geiger::inject
