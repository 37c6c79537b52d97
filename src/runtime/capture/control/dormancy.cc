#include "runtime/capture/control/dormancy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>

#include "base/check.h"
#include "base/raw_syscall.h"
#include "runtime/capture/control/attach.h"
#include "runtime/capture/control/confinement.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/sample/events.h"

namespace geiger::capture {

namespace {

using base::is_error;
using base::raw_syscall;
using trace::Bell;
using trace::Presence;
using trace::Rendezvous;
using trace::RendezvousPlace;

constinit std::atomic<const Bell*> bell{nullptr};
/// The bell's count of rings when this process last checked whether it was called.
constinit std::atomic<std::uint32_t> heard{0};

constinit std::atomic<Rendezvous*> rendezvous{nullptr};
constinit std::atomic<std::uint32_t> accepted{0};

/// Directory of the rendezvous, to remove it at exit.
constinit RendezvousPlace place{};
constinit char file_name[32]{};

/// The directory of the last accepted request, copied because other processes can change the page.
constinit char wished_directory[trace::kRendezvousPath]{};
/// Directory of traces whose request names none.
constinit const char* own_directory = nullptr;

/// A file descriptor, closed at the end of its scope.
class Fd {
 public:
  explicit Fd(long fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (is_open()) raw_syscall(SYS_close, fd_);
  }
  [[nodiscard]] bool is_open() const { return !is_error(fd_); }
  [[nodiscard]] long get() const { return fd_; }

 private:
  long fd_;
};

long open_at(long directory, const char* path, int flags) {
  return raw_syscall(SYS_openat, directory, reinterpret_cast<long>(path), flags | O_CLOEXEC, 0600);
}

std::uint32_t effective_user() { return static_cast<std::uint32_t>(raw_syscall(SYS_geteuid)); }

/// What is_trusted() requires of a file or directory.
struct Expected {
  mode_t kind;
  std::uint32_t user;
  bool is_private;    ///< No permissions for other users.
  bool may_be_roots;  ///< Root may own it: a controller made it.
};

bool is_trusted(long fd, const Expected& expected) {
  constexpr mode_t kOthers = 077;
  struct stat found {};
  if (is_error(raw_syscall(SYS_newfstatat, fd, reinterpret_cast<long>(""),
                           reinterpret_cast<long>(&found), AT_EMPTY_PATH))) {
    return false;
  }
  const bool is_owned =
      found.st_uid == expected.user || (expected.may_be_roots && found.st_uid == 0);
  const bool has_page =
      expected.kind != S_IFREG || found.st_size >= static_cast<off_t>(trace::kRendezvousBytes);
  return (found.st_mode & S_IFMT) == expected.kind && is_owned && has_page &&
         (!expected.is_private || (found.st_mode & kOthers) == 0);
}

/// The directory of a place, or an error. A link, or a directory of another user, is refused.
long open_place(const RendezvousPlace& at, std::uint32_t user, bool creates) {
  const Fd parent(open_at(AT_FDCWD, at.parent, O_PATH | O_DIRECTORY));
  if (!parent.is_open()) return -ENOENT;
  const Expected users{S_IFDIR, user, false, false};
  if (!at.parent_is_shared && !is_trusted(parent.get(), users)) return -EPERM;
  if (creates) {
    raw_syscall(SYS_mkdirat, parent.get(), reinterpret_cast<long>(at.name), 0700);
  }
  const long directory = open_at(parent.get(), at.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (is_error(directory) || is_trusted(directory, {S_IFDIR, user, true, false})) return directory;
  raw_syscall(SYS_close, directory);
  return -EPERM;
}

/// Writing past RLIMIT_FSIZE would raise SIGXFSZ in the program.
bool may_write_page() {
  rlimit limit{};
  return is_error(raw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, reinterpret_cast<long>(&limit))) ||
         limit.rlim_cur >= trace::kRendezvousBytes;
}

/// `over`: a page to replace, which other threads may be reading; null: none.
void* map_page(long fd, int protection, const void* over = nullptr) {
  const long page = raw_syscall(SYS_mmap, reinterpret_cast<long>(over), trace::kRendezvousBytes,
                                protection, MAP_SHARED | (over == nullptr ? 0 : MAP_FIXED), fd, 0);
  return is_error(page) ? nullptr : reinterpret_cast<void*>(page);
}

/// Creates this user's bell, for this process and later ones. A single write, so that other
/// processes see the file either blank or complete.
void make_bell(long directory) {
  if (!may_write_page()) return;
  const Fd fd(open_at(directory, trace::kBellName, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW));
  if (!fd.is_open()) return;
  alignas(Bell) char page[trace::kRendezvousBytes]{};
  trace::begin_bell(*reinterpret_cast<Bell*>(page));
  const long written =
      raw_syscall(SYS_pwrite64, fd.get(), reinterpret_cast<long>(page), sizeof page, 0);
  if (written == static_cast<long>(sizeof page)) return;
  raw_syscall(SYS_unlinkat, directory, reinterpret_cast<long>(trace::kBellName), 0);
}

/// Maps the bell read-only, over the one before.
const Bell* map_bell(const RendezvousPlace& at, std::uint32_t user, bool creates) {
  const Fd directory(open_place(at, user, creates));
  if (!directory.is_open()) return nullptr;
  if (creates) make_bell(directory.get());
  const Fd fd(open_at(directory.get(), trace::kBellName, O_RDONLY | O_NOFOLLOW));
  if (!fd.is_open() || !is_trusted(fd.get(), {S_IFREG, user, true, true})) return nullptr;
  const auto* page = static_cast<const Bell*>(map_page(fd.get(), PROT_READ, bell.load()));
  return page != nullptr && trace::is_bell(*page) ? page : nullptr;
}

/// Tries the places of this process in order until `attempt` succeeds.
template <typename Answer, typename Try>
Answer first_place(std::uint32_t user, const Try& attempt) {
  RendezvousPlace at{};
  for (int i = 0; i < trace::kRendezvousPlaces; ++i) {
    if (!trace::rendezvous_place(i, image.settings.runtime_directory, user, at)) continue;
    if (Answer answer = attempt(at); answer != nullptr) return answer;
  }
  return nullptr;
}

std::uint64_t own_start_ticks() {
  const Fd stat(open_at(AT_FDCWD, "/proc/self/stat", O_RDONLY));
  char text[512];
  const long bytes = raw_syscall(SYS_read, stat.get(), reinterpret_cast<long>(text), sizeof text);
  return bytes <= 0 ? 0 : trace::start_ticks_in(text, static_cast<std::size_t>(bytes));
}

Rendezvous* map_rendezvous(long directory, std::uint32_t user, std::uint32_t pid,
                           std::uint64_t ticks) {
  const Fd fd(open_at(directory, file_name, O_RDWR | O_NOFOLLOW));
  if (!fd.is_open() || !is_trusted(fd.get(), {S_IFREG, user, true, true})) return nullptr;
  auto* page = static_cast<Rendezvous*>(map_page(fd.get(), PROT_READ | PROT_WRITE));
  return page != nullptr && trace::is_rendezvous_of(*page, pid, ticks) ? page : nullptr;
}

/// Opens the rendezvous that a controller has created; this process never creates one.
Rendezvous* open_rendezvous(std::uint32_t pid) {
  const std::uint64_t ticks = own_start_ticks();  // 0 without /proc, for the controller too.
  const std::uint32_t user = effective_user();
  trace::rendezvous_name(pid, ticks, file_name);
  return first_place<Rendezvous*>(user, [&](const RendezvousPlace& at) -> Rendezvous* {
    const Fd directory(open_place(at, user, false));
    if (!directory.is_open()) return nullptr;
    place = at;
    return map_rendezvous(directory.get(), user, pid, ticks);
  });
}

void find_bell() {
  const std::uint32_t user = effective_user();
  const Bell* hung = first_place<const Bell*>(user, [&](const RendezvousPlace& at) {
    // Nearly always an earlier process has created it.
    const Bell* known = map_bell(at, user, false);
    return known != nullptr ? known : map_bell(at, user, true);
  });
  if (hung == nullptr) return;
  heard.store(hung->rings.load(std::memory_order_acquire), std::memory_order_relaxed);
  bell.store(hung, std::memory_order_release);
}

/// An earlier image of this process may have used this rendezvous (exec keeps pid and start time):
/// requests that it served are done. A request that no image has seen is ours.
void introduce(Rendezvous& page, Presence presence) {
  const bool is_new = page.presence.load(std::memory_order_acquire) == Presence::kAbsent;
  const std::uint32_t done = is_new ? 0 : page.served.load(std::memory_order_relaxed);
  accepted.store(done, std::memory_order_relaxed);
  page.has_directory = own_directory == nullptr ? 0 : 1;
  page.own_interval = image.settings.interval;
  page.presence.store(presence, std::memory_order_release);
}

/// Rare: a controller rang. Calls getpid, because this may be a child by fork.
GEIGER_SLOW_PATH Rendezvous* listen(const Bell& rung, std::uint32_t now) {
  std::uint32_t before = heard.load(std::memory_order_relaxed);
  const bool is_first = before != now && heard.compare_exchange_strong(before, now);
  if (!is_first) return nullptr;
  const auto pid = static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
  if (!rung.has_called(pid, before, now)) return nullptr;
  Rendezvous* page = open_rendezvous(pid);
  if (page == nullptr) return nullptr;
  if (page->wants_bell != 0) find_bell();
  introduce(*page, is_recording_for_trace() ? Presence::kRecording : Presence::kDormant);
  rendezvous.store(page, std::memory_order_release);
  return page;
}

/// The page with requests; null if this process was never called.
Rendezvous* own_rendezvous() {
  Rendezvous* page = rendezvous.load(std::memory_order_acquire);
  const Bell* hung = bell.load(std::memory_order_acquire);
  if (page != nullptr || hung == nullptr) return page;
  const std::uint32_t rings = hung->rings.load(std::memory_order_acquire);
  return rings == heard.load(std::memory_order_relaxed) ? nullptr : listen(*hung, rings);
}

}  // namespace

bool sleeps() { return image.settings.is_dormant; }

void hang_bell() {
  own_directory = image.settings.directory;
  find_bell();
}

Request pending_request() {
  const Rendezvous* page = own_rendezvous();
  if (page == nullptr) return Request::kNone;
  const std::uint32_t wanted = page->wanted.load(std::memory_order_acquire);
  if (wanted == accepted.load(std::memory_order_relaxed)) return Request::kNone;
  return trace::wants_recording(wanted) ? Request::kStart : Request::kStop;
}

Wish accept_request() {
  const Rendezvous* page = rendezvous.load(std::memory_order_acquire);
  accepted.store(page->wanted.load(std::memory_order_acquire), std::memory_order_relaxed);
  memcpy(wished_directory, page->directory, sizeof wished_directory);
  wished_directory[sizeof wished_directory - 1] = '\0';
  const char* wished = wished_directory[0] == '/' ? wished_directory : nullptr;
  const bool is_own_first = own_directory != nullptr && (wished == nullptr || page->prefers_own);
  return {.directory = is_own_first ? own_directory : wished,
          .otherwise = is_own_first ? wished : nullptr,
          .interval = page->wanted_interval.load(std::memory_order_relaxed)};
}

void answer_request(Presence presence, int error) {
  Rendezvous* page = rendezvous.load(std::memory_order_acquire);
  if (page == nullptr) return;
  page->error.store(error, std::memory_order_relaxed);
  page->presence.store(presence, std::memory_order_relaxed);
  page->served.store(accepted.load(std::memory_order_relaxed), std::memory_order_release);
}

void forget_rendezvous() { rendezvous.store(nullptr, std::memory_order_relaxed); }

void leave_rendezvous() {
  if (rendezvous.load(std::memory_order_relaxed) == nullptr) return;
  const Fd directory(open_place(place, effective_user(), false));
  if (!directory.is_open()) return;
  raw_syscall(SYS_unlinkat, directory.get(), reinterpret_cast<long>(file_name), 0);
}

// Wakes a sleeping process and puts it back to sleep: for a trace that a controller requested, or
// for a tool that listens to its events.
//
// For tools it records in memory, in segments of a few MiB that open with the live samples; the
// records are never read. It ends when no tool listens, or when a controller requests a trace.

namespace {

/// A recording for tools: the size after which it continues in another segment, the most live
/// samples it carries over, and the capacity for them.
constexpr Bytes kToolSegment = 4 * kMiB;
constexpr std::uint64_t kToolLive = 262144;
constexpr Bytes kToolCapacity = 64 * kMiB;

constinit Settings asleep{};

bool begin_waking() {
  Phase expected = Phase::kDormant;
  if (!image.phase.compare_exchange_strong(expected, Phase::kStarting, std::memory_order_acq_rel)) {
    return false;
  }
  image.settings = asleep;
  image.segments.open_error = 0;
  return true;
}

/// No thread is inside a recording that failed to start, so the process returns to its previous
/// state.
bool end_waking(bool started) {
  image.phase.store(started ? Phase::kSampling : Phase::kDormant, std::memory_order_release);
  return started;
}

/// Starts a recording there; returns whether it succeeded.
bool begins_in(const char* directory) {
  // The broker serves only the program's own directory.
  if (directory != asleep.directory) image.settings.broker = nullptr;
  image.settings.directory = directory;
  return directory != nullptr && start_image(false);
}

/// Carries out a request to record.
GEIGER_SLOW_PATH bool wake_for_trace() {
  if (!begin_waking()) return false;
  const Wish wish = accept_request();
  const bool has_interval = wish.interval != 0 && wish.interval <= kMostInterval;
  set_own_interval(has_interval ? wish.interval : image.settings.interval);
  image.sleeper.is_for_tools.store(false, std::memory_order_relaxed);
  const bool started = begins_in(wish.directory) || begins_in(wish.otherwise);
  const int error =
      started ? 0 : (image.segments.open_error != 0 ? image.segments.open_error : ENOENT);
  answer_request(started ? trace::Presence::kRecording : trace::Presence::kDormant, error);
  return end_waking(started);
}

/// The interval that a controller wishes for samples; 0: none.
std::uint64_t wished_interval() {
  const Rendezvous* page = rendezvous.load(std::memory_order_acquire);
  const std::uint64_t wished =
      page == nullptr ? 0 : page->wanted_interval.load(std::memory_order_relaxed);
  return wished <= kMostInterval ? wished : 0;
}

/// Of a recording for tools, which has no trace for controllers to reach it by.
void follow_wished_interval() {
  const std::uint64_t wished = wished_interval();
  std::atomic_ref<std::uint64_t> in_force(geiger_attachment_v1.interval);
  if (wished == 0 || wished == in_force.load(std::memory_order_relaxed)) return;
  if (set_interval(wished)) in_force.store(wished, std::memory_order_relaxed);
}

/// A tool listens. Programs that restricted their system calls are not woken.
GEIGER_SLOW_PATH bool wake_for_tools() {
  if (is_confined() || !begin_waking()) return false;
  image.settings.in_memory = true;
  image.settings.aggregates = false;
  image.settings.starts_paused = false;
  image.settings.capacity = kToolCapacity;
  image.settings.segment = kToolSegment;
  image.settings.keep = 0;
  image.settings.live = kToolLive;
  const std::uint64_t wished = wished_interval();
  geiger_attachment_v1.interval = wished != 0 ? wished : image.settings.interval;
  set_own_interval(geiger_attachment_v1.interval);
  image.sleeper.is_for_tools.store(true, std::memory_order_relaxed);
  const bool started = end_waking(start_image(false));
  if (started) report_state(base::AttachState::kForTools);
  return started;
}

bool is_for_tools(Phase phase) {
  return phase == Phase::kSampling && image.sleeper.is_for_tools.load(std::memory_order_relaxed);
}

/// Whether to end a recording for tools. A full one ends too, and starts again.
bool is_done_for_tools(Request request) {
  return request == Request::kStart || !is_listened_to() || current_segment().writer.is_stopped();
}

void answer_as_is(bool sleeps_on) {
  accept_request();
  answer_request(sleeps_on ? trace::Presence::kDormant : trace::Presence::kRecording, 0);
}

/// The rendezvous belongs to the parent; the bell is shared.
void begin_sleeping_child() {
  forget_rendezvous();
  report_state(base::AttachState::kNever);
  is_own_process->store(1, std::memory_order_relaxed);
}

}  // namespace

void note_settings_asleep() { asleep = image.settings; }

bool is_recording_for_trace() {
  return is_recording() && !image.sleeper.is_for_tools.load(std::memory_order_relaxed);
}

Due answer_calls() {
  const Phase phase = image.phase.load(std::memory_order_acquire);
  const bool is_dormant = phase == Phase::kDormant;
  if (!is_dormant && phase != Phase::kSampling) return Due::kNothing;
  if (is_own_process->load(std::memory_order_relaxed) == 0) {
    if (!is_dormant) return Due::kNothing;  // start_if_due() starts the child.
    begin_sleeping_child();
  }
  const Request request = pending_request();
  const bool tells = is_for_tools(phase);
  const bool records = !is_dormant && !tells;
  if (request == Request::kStop && !records) answer_as_is(true);
  if (request == Request::kStart && records) answer_as_is(false);
  if (records) return request == Request::kStop ? Due::kEndRecording : Due::kNothing;
  if (tells) follow_wished_interval();
  if (tells) return is_done_for_tools(request) ? Due::kEndRecording : Due::kNothing;
  if (request == Request::kStart) return Due::kTrace;
  return is_listened_to() ? Due::kToolEvents : Due::kNothing;
}

bool wake_up(Due due) {
  if (due == Due::kTrace) return wake_for_trace();
  return due == Due::kToolEvents && wake_for_tools();
}

bool is_asleep() {
  return image.phase.load(std::memory_order_acquire) == Phase::kDormant &&
         is_own_process->load(std::memory_order_relaxed) != 0;
}

bool claim_end() {
  if (image.sleeper.is_ending.exchange(1, std::memory_order_acq_rel) != 0) return false;
  // Another thread may have carried out the request since this one read it.
  const Phase phase = image.phase.load(std::memory_order_acquire);
  const Request request = pending_request();
  const bool is_due =
      phase == Phase::kSampling &&
      (is_for_tools(phase) ? is_done_for_tools(request) : request == Request::kStop);
  if (!is_due) image.sleeper.is_ending.store(0, std::memory_order_release);
  return is_due;
}

void go_to_sleep() {
  const bool was_asked = !image.sleeper.is_for_tools.load(std::memory_order_relaxed);
  if (was_asked) accept_request();
  if (!was_asked) report_state(base::AttachState::kNever);
  image.phase.store(Phase::kDormant, std::memory_order_release);
  image.sleeper.is_ending.store(0, std::memory_order_release);
  if (was_asked) answer_request(trace::Presence::kDormant, 0);
}

}  // namespace geiger::capture
