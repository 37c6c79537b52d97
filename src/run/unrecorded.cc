#include "run/unrecorded.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "analysis/ingest/unbegun.h"
#include "analysis/observe/process_files.h"
#include "base/numbers.h"
#include "base/parts.h"
#include "base/path.h"
#include "control/run_directory.h"
#include "control/target_process.h"

namespace geiger::run {
namespace {

using ingest::Absence;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::string_view kRuntime = "libgeiger-preload.so";
constexpr milliseconds kFirst(100), kSecondLook(20), kLongest(5000);
/// Looks take at most a kShare-th of a processor.
constexpr int kShare = 200;
/// Of a run with more processes, and of a process with more threads, only this many are seen.
constexpr std::size_t kLargestFamily = 4096, kMostThreads = 256;

nanoseconds own_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

void add_children(pid_t pid, std::vector<pid_t>& all) {
  std::error_code error;
  const std::string tasks = fmt::format("/proc/{}/task", pid);
  const observe::ProcessFiles files(pid);
  std::size_t threads = 0;
  for (auto task = std::filesystem::directory_iterator(tasks, error);
       !error && task != std::filesystem::directory_iterator() && threads < kMostThreads;
       task.increment(error), ++threads) {
    const std::string name = "task/" + task->path().filename().string() + "/children";
    const auto text = files.read(name.c_str());
    if (!text) continue;
    for (std::string_view rest = *text; !rest.empty() && all.size() < kLargestFamily;) {
      const auto child = base::number_in<pid_t>(base::take_part(rest, ' '));
      if (child) all.push_back(*child);
    }
  }
}

/// The program and its descendants.
std::vector<pid_t> family_of(pid_t program) {
  std::vector<pid_t> all{program};
  for (std::size_t i = 0; i < all.size(); ++i) add_children(all[i], all);
  return all;
}

/// The file that a process runs; nothing if it has ended.
std::optional<std::string> image_of(pid_t pid) {
  std::array<char, PATH_MAX> path{};
  const std::string link = fmt::format("/proc/{}/exe", pid);
  const ssize_t size = readlink(link.c_str(), path.data(), path.size());
  if (size >= 0) return std::string(path.data(), static_cast<std::size_t>(size));
  // Another user's, or one that hides itself: the name must do.
  if (errno != EACCES) return std::nullopt;
  auto name = observe::ProcessFiles(pid).read("comm");
  if (name && name->ends_with('\n')) name->pop_back();
  return name;
}

bool has_trace(const std::string& directory, pid_t pid) {
  return std::ranges::any_of(control::traces_in(directory), [&](const std::string& name) {
    const auto named = ingest::process_named(name);
    return named && named->pid == pid;
  });
}

/// Why the library is not in a process, or nothing: it is, or may still come.
std::optional<Absence> absence_in(pid_t pid, const std::string& directory) {
  const observe::ProcessFiles process(pid);
  const auto maps = process.read("maps");
  if (!maps) {
    const bool is_hidden = errno == EACCES && !has_trace(directory, pid);
    return is_hidden ? std::optional(Absence::kIgnored) : std::nullopt;
  }
  const auto files = control::mapped_files_in(*maps);
  const control::GeigerFiles ours = control::geiger_files_in(files);
  if (files.empty() || ours.has_runtime || !ours.traces.empty() || ours.bell) return std::nullopt;
  const auto has = [&](std::string_view start) {
    return std::ranges::any_of(files, [&](const control::MappedFile& file) {
      return base::file_name_of(file.path).starts_with(start);
    });
  };
  // Preloaded libraries come before those that the program needs.
  const bool is_loading = has("ld-linux") && !has("libc.so") && !has("libc-");
  if (is_loading) return std::nullopt;
  if (!has("ld-")) return Absence::kStatic;
  const auto environment = process.read("environ");
  const bool is_asked = !environment || environment->find(kRuntime) != std::string::npos;
  return is_asked ? Absence::kIgnored : Absence::kEnvironment;
}

}  // namespace

UnrecordedWatch::UnrecordedWatch(pid_t program, std::string directory)
    : program_(program),
      directory_(std::move(directory)),
      rest_(kFirst),
      next_(Clock::now() + kFirst) {}

std::chrono::nanoseconds UnrecordedWatch::round() {
  if (found_.size() >= kMost) return std::chrono::hours(1);
  if (Clock::now() < next_) return next_ - Clock::now();
  const nanoseconds begun = own_time();
  look();
  const nanoseconds taken = own_time() - begun;
  nanoseconds rest = kSecondLook;
  if (suspects_.empty()) {
    rest = rest_;
    rest_ = std::min<nanoseconds>(2 * rest_, kLongest);
  }
  next_ = Clock::now() + std::max(rest, kShare * taken);
  return next_ - Clock::now();
}

void UnrecordedWatch::look() {
  Images recorded, suspects;
  for (const pid_t pid : family_of(program_)) {
    const auto image = image_of(pid);
    if (!image) continue;
    const auto is_in = [&](const Images& images) {
      const auto found = images.find(pid);
      return found != images.end() && found->second == *image;
    };
    if (is_in(known_)) continue;
    // Maps of a large process hold up its threads, so those of a recorded one are read once.
    if (is_in(recorded_)) {
      recorded.insert({pid, *image});
      continue;
    }
    const auto absence = absence_in(pid, directory_);
    if (!absence) {
      recorded.insert({pid, *image});
    } else if (is_in(suspects_) && found_.size() < kMost) {
      known_[pid] = *image;
      const std::string program = control::name_for_files(*image);
      found_.push_back(ingest::name_of_absent(program, pid, *absence));
    } else {
      suspects.insert({pid, *image});
    }
  }
  recorded_ = std::move(recorded);
  suspects_ = std::move(suspects);
}

}  // namespace geiger::run
