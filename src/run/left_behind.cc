#include "run/left_behind.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
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

}  // namespace

std::vector<LeftProcess> processes_left(const std::string& directory) {
  std::vector<LeftProcess> left;
  const std::string word = directory_word(directory);
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator("/proc", error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto pid = base::number_in<pid_t>(entry->path().filename().native());
    if (!pid || *pid == getpid()) continue;
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
