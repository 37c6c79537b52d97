#include "run/left_behind.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/numbers.h"
#include "base/parts.h"
#include "control/target_process.h"
#include "run/environment.h"

namespace geiger::run {
namespace {

bool has_word(std::string_view environment, std::string_view wanted) {
  while (!environment.empty()) {
    if (base::take_part(environment, '\0') == wanted) return true;
  }
  return false;
}

/// The id that the kernel gave last; 0 if it cannot be read.
pid_t newest_pid() {
  std::ifstream file("/proc/loadavg");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string_view line = std::string_view(text).substr(0, text.find('\n'));
  return base::number_in<pid_t>(line.substr(line.rfind(' ') + 1)).value_or(0);
}

/// The least id that a process of the run can have: ids do not go round within so short a time more
/// than once, and where they did the newest is below the program's.
pid_t least_pid(pid_t program, Nanoseconds ran_for) {
  constexpr Nanoseconds kShort = 1'000'000'000;
  return ran_for < kShort && newest_pid() >= program ? program : 1;
}

}  // namespace

std::vector<LeftProcess> processes_left(const std::string& directory, pid_t program,
                                        Nanoseconds ran_for) {
  std::vector<LeftProcess> left;
  const pid_t least = least_pid(program, ran_for);
  const std::string word = directory_word(directory);
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator("/proc", error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto pid = base::number_in<pid_t>(entry->path().filename().native());
    if (!pid || *pid < least || *pid == getpid()) continue;
    const observe::ProcessFiles files(*pid);
    const auto environment = files.read("environ");
    if (!environment || !has_word(*environment, word)) continue;
    const auto facts = control::facts_of(files);
    auto name = files.read("comm");
    if (!facts || !name) continue;
    if (name->ends_with('\n')) name->pop_back();
    left.push_back({*pid, static_cast<pid_t>(facts->inner_pid), std::move(*name)});
  }
  std::ranges::sort(left, {}, &LeftProcess::pid);
  return left;
}

}  // namespace geiger::run
