#include "fleet/push/agent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "analysis/ingest/decode/image.h"
#include "analysis/ingest/files.h"
#include "analysis/observe/proc_files.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "fleet/document/document.h"
#include "foreign/open.h"

namespace geiger::fleet {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
/// Between looks: traces that a process replaces are opened before they go.
constexpr std::int64_t kLookEvery = 10;
/// A skew below is as good as none: the time of an answer is not known better.
constexpr std::int64_t kSkewThatCounts = 60'000;
/// How long the last sending may take when the agent is to end.
constexpr std::chrono::seconds kFarewell{10};
constexpr Nanoseconds kLongestSleep = 1'000'000'000;
constexpr std::int64_t kNever = INT64_MAX / 2;

std::string state_name(const ingest::Image& image) {
  const trace::FileHeader& header = image.header();
  const std::uint64_t start = header.image_start != 0 ? header.image_start : header.start_monotonic;
  return fmt::format("{:08x}-{:016x}-{:016x}", image.pid(), start, header.seed);
}

}  // namespace

/// A trace of an image; shows whether it is still written.
struct Agent::Trace {
  ingest::InputFile file;
  ingest::Image image;
};

struct Agent::Image {
  Image(const std::string& name, const FollowedProcess::Names& names, Spool& spool,
        const Spool::Log& log)
      : process(name, names, spool, log) {}

  FollowedProcess process;
  std::unique_ptr<Trace> latest;
  std::optional<observe::ProcessFiles> files;  ///< Of the process, while it writes.
  std::set<std::string> paths;                 ///< That are there.
};

Agent::Agent(AgentOptions options, Spool& spool, Sink& sink, Spool::Log log)
    : options_(std::move(options)),
      spool_(spool),
      log_(std::move(log)),
      sender_(spool, sink, log_, hash_of(options_.names.host) ^ base::realtime_now()) {}

Agent::~Agent() = default;

base::Outcome<void> Agent::begin() {
  for (const std::string& directory : options_.watched) {
    if (access(directory.c_str(), R_OK | X_OK) == 0) continue;
    log_(fmt::format("{}: {}; its traces are followed once it can be read", directory,
                     std::strerror(errno)));
  }
  const auto recovered = recover(spool_);
  if (recovered.has_value()) sender_.ask_time();
  return recovered;
}

void Agent::find_traces() {
  std::set<std::string> there;
  for (const std::string& directory : options_.watched) {
    std::error_code error;
    using Walk = std::filesystem::recursive_directory_iterator;
    constexpr int kDeepest = 2;
    for (Walk entry(directory, std::filesystem::directory_options::skip_permission_denied, error),
         end;
         !error && entry != end; entry.increment(error)) {
      if (entry.depth() >= kDeepest) entry.disable_recursion_pending();
      if (entry->path().extension() != ".geiger") continue;
      there.insert(entry->path());
      if (!known_.contains(entry->path())) take_trace(entry->path());
    }
  }
  std::erase_if(known_, [&](const auto& each) {
    if (there.contains(each.first)) return false;
    if (const auto image = images_.find(each.second); image != images_.end()) {
      image->second->paths.erase(each.first);
    }
    return true;
  });
}

/// Opens what lies below a watched directory: its entries may be other users', who could lead an
/// agent of root elsewhere by links.
base::UniqueFd Agent::open_watched(const std::string& path, int flags) const {
  for (const std::string& directory : options_.watched) {
    if (!path.starts_with(directory)) continue;
    const base::UniqueFd watched(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return foreign::open_below(watched.get(), path.substr(directory.size()), flags,
                               foreign::Links::kNone);
  }
  errno = ENOENT;
  return {};
}

void Agent::take_trace(const std::string& path) {
  const base::UniqueFd found = open_watched(path, O_PATH);
  auto trace = std::make_unique<Trace>();
  auto followed = std::make_unique<ingest::InputFile>();
  if (!trace->file.take(foreign::reopen_regular(found, O_RDONLY), path).has_value() ||
      !followed->take(foreign::reopen_regular(found, O_RDONLY), path).has_value() ||
      !trace->image.read(trace->file, 0, 0).has_value()) {  // The header may come later.
    return;
  }
  const std::string name = state_name(trace->image);
  auto& image = images_[name];
  if (!image) {
    image = std::make_unique<Image>(name, options_.names, spool_, log_);
    const auto loaded = image->process.load();
    // Without it windows would count twice.
    if (!loaded.has_value()) log_(path + " is not followed: " + loaded.reason());
    if (!loaded.has_value()) image->process.give_up();
  }
  known_[path] = name;
  image->paths.insert(path);
  if (image->process.is_finished()) return;
  image->process.add(std::move(followed));
  const bool is_later =
      !image->latest || image->latest->image.header().segment < trace->image.header().segment;
  if (is_later) image->latest = std::move(trace);
}

/// Of ended processes only what keeps them from being sent again is kept, as long as their traces
/// are there.
void Agent::forget_ended() {
  std::erase_if(images_, [&](const auto& each) {
    Image& image = *each.second;
    if (image.process.is_all_sent()) remove_fleeting(image);
    if (!image.process.is_finished()) return false;
    image.latest.reset();
    image.files.reset();
    if (!image.paths.empty()) return false;
    spool_.state().remove(each.first + kStateEnd);
    return true;
  });
}

/// Only files in the directory itself: below it another user's directory could be replaced by a
/// link, and root would remove a file elsewhere. What is left of the image is forgotten when its
/// traces are seen to be gone.
void Agent::remove_fleeting(const Image& image) const {
  if (options_.fleeting.empty()) return;
  const base::UniqueFd directory(
      open(options_.fleeting.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  const bool is_ours =
      directory.is_open() && fstat(directory.get(), &status) == 0 && status.st_uid == geteuid();
  if (!is_ours) return;
  for (const std::filesystem::path path : image.paths) {
    if (path.parent_path() == options_.fleeting) {
      unlinkat(directory.get(), path.filename().c_str(), 0);
    }
  }
}

void Agent::look() {
  oom_kills_ = observe::oom_kills();
  for (const auto& [name, image] : images_) {
    image->process.look(base::monotonic_now());
    if (!image->latest || image->process.is_finished()) continue;
    const bool is_new = !image->files;
    if (is_new && ingest::is_being_written(image->latest->file, image->latest->image)) {
      image->files.emplace(static_cast<pid_t>(image->latest->image.pid()));
    }
    const auto text = image->files ? image->files->read("status") : std::nullopt;
    const auto status = text ? observe::parse_status(*text) : std::nullopt;
    if (status) image->process.note_resident(base::monotonic_now(), status->counts.resident);
  }
}

Now Agent::now() const {
  Now now;
  now.oom_kills = oom_kills_;
  now.grid = options_.grid;
  now.monotonic = base::monotonic_now();
  const std::int64_t skew = sender_.skew_ms().value_or(0);
  constexpr std::int64_t kMostSkew = INT32_MAX;
  now.skew_ms = static_cast<std::int32_t>(std::clamp(skew, -kMostSkew, kMostSkew));
  const bool counts = skew > kSkewThatCounts || skew < -kSkewThatCounts;
  now.correction = counts ? skew * (kSecond / 1000) : 0;
  now.realtime = static_cast<std::int64_t>(base::realtime_now()) - now.correction;
  return now;
}

bool Agent::cut(bool is_last) {
  bool has_ended = false;
  for (const auto& [name, image] : images_) {
    if (image->process.is_finished()) continue;
    const bool is_written =
        image->latest && ingest::is_being_written(image->latest->file, image->latest->image);
    const auto done = image->process.cut(now(), is_last, is_written);
    if (!done.has_value()) log_(done.reason() + "; the next window will have it");
    has_ended |= image->process.is_finished();
  }
  forget_ended();
  return has_ended;
}

void Agent::send(const std::function<bool()>& stops) {
  static_cast<void>(sender_.send(Sender::Clock::now(), stops));
}

base::Outcome<void> Agent::run(const std::function<bool()>& stops) {
  GEIGER_TRY(begin());
  const std::int64_t grid = options_.grid;
  const auto offset =
      static_cast<std::int64_t>(hash_of(options_.names.host) % static_cast<std::uint64_t>(grid));
  // Sends when the step of the grid that is `offset` late changes.
  const auto sending_step = [&] { return (now().realtime / kSecond - offset) / grid; };
  std::int64_t sent_step = -1;
  while (!stops()) {
    const std::int64_t next_duty = options_.duty != nullptr ? options_.duty->look(now()) : kNever;
    find_traces();
    look();
    // What ended is sent now: its host may end with it.
    const bool has_ended = cut(false);
    const bool is_late = sender_.put_off_to() && Sender::Clock::now() >= *sender_.put_off_to();
    if (is_late || has_ended || sending_step() != sent_step) {
      sent_step = sending_step();
      send(stops);
    }
    wait_until(std::min(((sent_step + 1) * grid + offset) * kSecond, next_duty), stops);
  }
  if (options_.duty != nullptr) options_.duty->end();
  find_traces();
  look();
  static_cast<void>(cut(true));
  const auto latest = Sender::Clock::now() + kFarewell;
  send([latest] { return Sender::Clock::now() >= latest; });
  return {};
}

base::Outcome<bool> Agent::run_once(const std::function<bool()>& stops) {
  GEIGER_TRY(begin());
  find_traces();
  look();
  static_cast<void>(cut(true));
  return sender_.send(Sender::Clock::now(), stops);
}

/// Until something is to be done: a look, a step of the grid, or the next event, in Unix
/// nanoseconds.
void Agent::wait_until(std::int64_t next_event, const std::function<bool()>& stops) const {
  const std::int64_t realtime = now().realtime;
  const std::int64_t next_step = (realtime / kSecond / options_.grid + 1) * options_.grid;
  std::int64_t wait = kLookEvery * kSecond;
  wait = std::min({wait, next_step * kSecond - realtime, next_event - realtime});
  if (const auto again = sender_.put_off_to()) {
    const auto left = *again - Sender::Clock::now();
    wait = std::min<std::int64_t>(wait, std::chrono::nanoseconds(left).count());
  }
  const Nanoseconds end =
      base::monotonic_now() + static_cast<Nanoseconds>(std::max<std::int64_t>(wait, kSecond / 50));
  // A signal ends a sleep early, or arrives just before it.
  for (Nanoseconds here = base::monotonic_now(); here < end && !stops();
       here = base::monotonic_now()) {
    const Nanoseconds sleep = std::min(end - here, kLongestSleep);
    const timespec time{static_cast<time_t>(sleep / kSecond), static_cast<long>(sleep % kSecond)};
    nanosleep(&time, nullptr);
  }
}

}  // namespace geiger::fleet
