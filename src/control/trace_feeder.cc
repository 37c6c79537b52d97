#include "control/trace_feeder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <utility>

#include "base/raw_syscall.h"
#include "control/control_page.h"
#include "control/run_directory.h"
#include "control/target_process.h"

namespace geiger::control {
namespace {

using std::chrono::milliseconds;

// A short process stays below half of what it allocated itself and needs no further allocation. A
// trace that grows gets kAhead or eight times its largest recent step, whichever is more, but at
// most a share of the free space, or kUnit: the disk belongs to the program.
constexpr Bytes kShort = 64 * kKiB;
constexpr Bytes kAheadOfShort = 64 * kKiB;
constexpr Bytes kUnit = 256 * kKiB;
constexpr Bytes kShareOfFree = 8;
constexpr Bytes kAhead = 4 * kMiB;
constexpr Bytes kLargestStep = 256 * kMiB;

// A trace is busy if it uses more than this share of the storage ahead of it between two rounds: at
// less, the longest wait uses a third of it.
constexpr Bytes kBusyShare = 64;

constexpr milliseconds kBusyWait{10};
constexpr milliseconds kLongestWait{200};
constexpr milliseconds kStartingWait{1};
constexpr int kRoundsUntilIdle = 20;

/// A watched process needs a descriptor for its trace, one for /proc/PID, and two for conditions.
constexpr std::size_t kDescriptorsOfEach = 4;
/// Descriptors that geiger itself has open.
constexpr std::size_t kOwnDescriptors = 32;

std::size_t most_watched() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return ~std::size_t{0};
  const std::size_t free = limit.rlim_cur - std::min<rlim_t>(limit.rlim_cur, kOwnDescriptors);
  return std::max<std::size_t>(1, free / kDescriptorsOfEach);
}

Bytes round_up(Bytes value, Bytes unit) { return (value + unit - 1) / unit * unit; }

/// The magic as one word; 0 until the runtime, which stores it last, has written
/// the rest of the header. Pairs with the release in Writer.
std::uint64_t acquire_magic(const trace::FileHeader& header) {
  auto* word = reinterpret_cast<std::uint64_t*>(const_cast<char*>(header.magic));
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}

/// For file systems without fallocate, such as ext3 and FAT: populates the pages of the range,
/// without changing what the writer may have written there meanwhile.
int populate_range(int fd, off_t from, std::size_t bytes) {
  void* range = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, from);
  if (range == MAP_FAILED) return errno;
  const long result = base::populate(range, bytes);
  munmap(range, bytes);
  // The kernel reports a file page that cannot be allocated as a bad address.
  return result == -EFAULT ? ENOSPC : static_cast<int>(-result);
}

Bytes free_bytes(int fd) {
  struct statvfs status {};
  return fstatvfs(fd, &status) == 0 ? Bytes{status.f_bavail} * status.f_frsize : ~Bytes{0};
}

int allocate_range(int fd, Bytes from, Bytes to) {
  const auto offset = static_cast<off_t>(from);
  if (fallocate(fd, FALLOC_FL_KEEP_SIZE, offset, static_cast<off_t>(to - from)) == 0) return 0;
  return errno == EOPNOTSUPP ? populate_range(fd, offset, to - from) : errno;
}

/// Only a file of the user whose rights they are: its mode is changed.
base::UniqueFd open_with(const std::optional<foreign::Rights>& rights, int directory,
                         const std::string& name) {
  if (!rights) return open_to_control(directory, name);
  const foreign::ActingWith acting(*rights);
  struct stat status {};
  base::UniqueFd file = acting.is_in_force() ? open_to_control(directory, name) : base::UniqueFd();
  const bool is_its = file.is_open() && fstat(file.get(), &status) == 0 &&
                      status.st_uid == rights->user && S_ISREG(status.st_mode);
  return is_its ? std::move(file) : base::UniqueFd();
}

/// Zeros if there is no file.
FileId file_at(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? FileId{status.st_dev, status.st_ino} : FileId{};
}

}  // namespace

WatchedTrace::Opened WatchedTrace::open(int directory_fd, const std::string& name,
                                        const std::optional<foreign::Rights>& rights,
                                        WatchedTrace& trace) {
  trace.name_ = name;
  trace.fd_ = open_with(rights, directory_fd, name);
  if (!trace.fd_.is_open()) return errno == ENFILE ? Opened::kNotYet : Opened::kForeign;
  const auto size = size_of_trace(trace.fd_.get());
  if (!size) return Opened::kNotYet;
  auto front = TraceFront::map(trace.fd_.get());
  if (!front) return Opened::kForeign;
  const trace::FileHeader& header = std::as_const(*front).header();
  const std::uint64_t magic = acquire_magic(header);
  if (magic == 0) return Opened::kNotYet;
  if (magic != std::bit_cast<std::uint64_t>(trace::kMagic) || header.version != trace::kVersion) {
    return Opened::kForeign;
  }
  trace.front_ = std::move(*front);
  trace.capacity_ = std::min({trace.header().capacity, *size, trace::kMaxCapacity});
  trace.pid_ = static_cast<pid_t>(trace.header().pid);
  trace.front_.control().supervised.store(1, std::memory_order_release);
  fchmod(trace.fd_.get(), trace::kGuardedFileMode);
  return Opened::kYes;
}

FileId WatchedTrace::file() const {
  struct stat status {};
  fstat(fd_.get(), &status);
  return {status.st_dev, status.st_ino};
}

WatchedTrace::~WatchedTrace() {
  if (!front_.is_mapped()) return;
  fchmod(fd_.get(), trace::kFileMode);
  if (size_of_trace(fd_.get())) front_.control().supervised.store(0, std::memory_order_release);
}

void WatchedTrace::swap(WatchedTrace& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(fd_, other.fd_);
  std::swap(pid_, other.pid_);
  std::swap(front_, other.front_);
  std::swap(capacity_, other.capacity_);
  std::swap(last_tail_, other.last_tail_);
  std::swap(growth_, other.growth_);
  std::swap(refused_, other.refused_);
}

trace::State WatchedTrace::state() const { return header().state.load(std::memory_order_acquire); }

void WatchedTrace::find_outer_pid() {
  pid_ = outer_pid_of(header().pid, fd_.get());
  const auto found = static_cast<std::uint32_t>(pid_);
  if (found != 0 && found != header().pid) record_outer_pid(fd_.get(), found);
}

void WatchedTrace::set_paused(bool is_paused) {
  front_.control().paused.store(is_paused ? 1 : 0, std::memory_order_release);
}

void WatchedTrace::ask_utilization() {
  front_.control().wanted_utilization.fetch_add(1, std::memory_order_relaxed);
}

void WatchedTrace::ask_residency() {
  front_.control().wanted_residency.fetch_add(1, std::memory_order_relaxed);
}

Bytes WatchedTrace::bytes_ahead(Bytes tail) const {
  const bool is_short = tail < trace::kRecordsOffset + kShort;
  return is_short ? kAheadOfShort : std::max(kAhead, 8 * growth_);
}

// The watermark only grows, and only over allocated storage: on a full disk, a page below it
// without storage would kill the program by SIGBUS.
void WatchedTrace::allocate(Bytes from, Bytes to) {
  if (!size_of_trace(fd_.get())) return;
  refused_ = allocate_range(fd_.get(), from, to);
  if (refused_ == 0) front_.control().watermark.store(to, std::memory_order_release);
}

bool WatchedTrace::feed() {
  // A writer adds to the tail even if the trace is full.
  const Bytes tail = std::min(header().tail.load(std::memory_order_relaxed), capacity_);
  growth_ = std::max(growth_ / 2, std::min(tail - std::min(tail, last_tail_), kLargestStep));
  last_tail_ = tail;
  const Bytes watermark = front_.control().watermark.load(std::memory_order_relaxed);
  const bool is_busy = growth_ > (watermark - std::min(tail, watermark)) / kBusyShare;
  const Bytes ahead = bytes_ahead(tail);
  // Half of it may be used before a system call is worthwhile.
  if (refused_ == 0 && watermark < std::min(tail + ahead / 2, capacity_)) {
    const Bytes wanted = std::min(ahead, std::max(free_bytes(fd_.get()) / kShareOfFree, kUnit));
    const Bytes end = std::min(round_up(tail + wanted, kUnit), capacity_);
    if (end > watermark) allocate(watermark, end);
  }
  return is_busy;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
}

TraceFeeder::TraceFeeder(std::string directory, bool has_namespaces,
                         std::optional<foreign::Rights> rights)
    : directory_(std::move(directory)),
      directory_fd_(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      most_(most_watched()),
      has_namespaces_(has_namespaces),
      rights_(std::move(rights)) {
  if (inotify_.is_open()) {
    watch_ = inotify_add_watch(inotify_.get(), directory_.c_str(), IN_CREATE | IN_MOVED_TO);
  }
}

TraceFeeder::~TraceFeeder() { finish(); }

void TraceFeeder::finish() {
  watched_.clear();
  // Closing an instance whose watch has just ended, or has not, takes the kernel up to 24 ms.
  if (watch_ >= 0) inotify_rm_watch(inotify_.get(), std::exchange(watch_, -1));
}

bool TraceFeeder::adopt(const std::string& name) {
  WatchedTrace trace;
  const auto opened = WatchedTrace::open(directory_fd_.get(), name, rights_, trace);
  if (opened == WatchedTrace::Opened::kNotYet) return false;
  known_.insert(name);
  if (opened == WatchedTrace::Opened::kForeign) return true;
  has_namespaces_ |= trace.begins_namespace();
  if (has_namespaces_) trace.find_outer_pid();
  if (sets_paused_) trace.set_paused(is_paused_);
  newest_[{trace.pid(), trace.image_start()}] = {name, trace.file()};
  watched_.push_back(std::move(trace));
  return true;
}

void TraceFeeder::discover() {
  std::array<char, 4096> events{};
  bool is_told = !inotify_.is_open();
  while (inotify_.is_open() && read(inotify_.get(), events.data(), events.size()) > 0) {
    is_told = true;
  }
  if (!is_told && (!has_pending_ || is_full())) return;
  has_pending_ = false;
  for (const auto& name : traces_in(directory_)) {
    if (known_.contains(name)) continue;
    if (is_full()) late_.insert(name);
    if (is_full() || !adopt(name)) has_pending_ = true;
  }
}

// An image is no longer written after exec, or after its process ended. Sealing the trace releases
// the storage ahead of it.
bool TraceFeeder::is_superseded(std::size_t index) const {
  const auto& trace = watched_[index];
  return std::any_of(watched_.begin(), watched_.end(), [&](const WatchedTrace& other) {
    return other.pid() == trace.pid() && other.start() > trace.start();
  });
}

void TraceFeeder::let_go_of_ended() {
  std::vector<bool> has_ended(watched_.size());
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    const auto& trace = watched_[i];
    if (trace.refused() != 0) refused_ = trace.refused();
    const bool is_gone = trace.pid() == 0 || (kill(trace.pid(), 0) != 0 && errno == ESRCH);
    const bool is_final =
        trace.state() == trace::State::kExited || trace.state() == trace::State::kStopped;
    has_ended[i] = is_final || is_gone || is_superseded(i);
  }
  std::size_t index = 0;
  std::erase_if(watched_, [&](const WatchedTrace&) { return has_ended[index++]; });
}

void TraceFeeder::set_paused(bool is_paused) {
  is_paused_ = is_paused;
  sets_paused_ = true;
  for (auto& trace : watched_) trace.set_paused(is_paused);
}

void TraceFeeder::ask_utilization() {
  for (auto& trace : watched_) trace.ask_utilization();
}

void TraceFeeder::ask_residency(const std::vector<std::string>& paths) {
  for (auto& trace : watched_) {
    if (std::ranges::find(paths, path_of(trace)) != paths.end()) trace.ask_residency();
  }
}

WatchLosses TraceFeeder::losses() const {
  WatchLosses losses{refused_, late_.size(), {}, {}, moved_to()};
  for (const auto& [image, newest] : newest_) {
    // logrotate creates another file of the same name.
    if (file_at(directory_ + "/" + newest.name) == newest.file) continue;
    losses.missing.push_back(newest.name);
    if (std::string now = name_of(newest.file); !now.empty()) {
      losses.renamed.push_back(std::move(now));
    }
  }
  return losses;
}

std::string TraceFeeder::name_of(const FileId& file) const {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, error)) {
    if (file_at(entry.path()) == file) return entry.path().filename();
  }
  return {};
}

std::string TraceFeeder::moved_to() const {
  struct stat there {};
  struct stat own {};
  if (fstat(directory_fd_.get(), &own) != 0 || own.st_nlink == 0) return {};
  const bool is_there = stat(directory_.c_str(), &there) == 0 && there.st_ino == own.st_ino &&
                        there.st_dev == own.st_dev;
  std::error_code error;
  const auto place =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(directory_fd_.get()), error);
  return is_there || error ? std::string() : place.string();
}

std::string TraceFeeder::path_of(const WatchedTrace& trace) const {
  return directory_ + "/" + trace.name();
}

std::vector<observe::Writing> TraceFeeder::writing() const {
  std::vector<observe::Writing> traces;
  for (const auto& trace : watched_) {
    traces.push_back({path_of(trace), trace.pid(), trace.image_start()});
  }
  return traces;
}

std::chrono::milliseconds TraceFeeder::round() {
  discover();
  bool is_busy = false;
  for (auto& trace : watched_) is_busy |= trace.feed();
  let_go_of_ended();
  idle_rounds_ = is_busy ? 0 : std::min(idle_rounds_ + 1, kRoundsUntilIdle * 2);
  if (has_pending_ && !is_full() && idle_rounds_ < kRoundsUntilIdle) return kStartingWait;
  return idle_rounds_ < kRoundsUntilIdle ? kBusyWait : kLongestWait;
}

namespace {

/// Whether the recording was stopped: the process may still map the trace then.
bool is_final(int fd) {
  trace::State state = trace::State::kStarting;
  const auto at = static_cast<off_t>(offsetof(trace::FileHeader, state));
  return pread(fd, &state, sizeof state, at) == sizeof state && state == trace::State::kStopped;
}

}  // namespace

bool is_being_written(const std::string& path, pid_t pid) {
  const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.is_open() || is_final(fd.get())) return false;
  if (fcntl(fd.get(), F_SETLEASE, F_RDLCK) == 0) {
    fcntl(fd.get(), F_SETLEASE, F_UNLCK);
    return false;
  }
  if (errno == EAGAIN) return true;
  return kill(pid, 0) == 0 || errno != ESRCH;
}

}  // namespace geiger::control
