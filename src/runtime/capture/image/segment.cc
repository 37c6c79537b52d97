// Asks the supervisor to do what this process lacks permission for (trace/rendezvous.h).
//
// Threads / Signals / Fork: safe; waits at most a second or two for an answer, and never again
// after a timeout. Allocates: never.
#include "runtime/capture/image/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <atomic>
#include <bit>
#include <iterator>

#include "base/check.h"
#include "base/clock.h"
#include "base/raw_syscall.h"
#include "base/text_builder.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/tables/arena.h"
#include "runtime/capture/thread/thread_state.h"
#include "runtime/probes/probes.h"
#include "sampling/samplers.h"
#include "trace/rendezvous.h"
#include "trace/writer.h"

namespace geiger::capture {

/// Creates the trace of this name in the run's directory. Returns a descriptor or -errno.
[[nodiscard]] long open_by_broker(const char* name);

/// Removes the trace of this name. False: failed.
bool remove_by_broker(const char* name);

namespace {

using base::is_error;
using base::raw_syscall;
using trace::BrokerAction;
using trace::BrokerAnswer;
using trace::BrokerRequest;

/// Set if the supervisor did not answer: it is not asked again, as the program would wait each
/// time.
constinit std::atomic<bool> is_silent{false};

long call(long number, long fd, const void* what, std::size_t size = 0) {
  return raw_syscall(number, fd, reinterpret_cast<long>(what), static_cast<long>(size));
}

constexpr Nanoseconds kPatience = 1'000'000'000;

bool set_patience(long fd) {
  const timeval patience{kPatience / 1'000'000'000, 0};
  const auto set = [&](int option) {
    return raw_syscall(SYS_setsockopt, fd, SOL_SOCKET, option, reinterpret_cast<long>(&patience),
                       sizeof patience);
  };
  return !is_error(set(SO_RCVTIMEO)) && !is_error(set(SO_SNDTIMEO));
}

bool reach(long fd) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  char* name = address.sun_path + 1;  // The NUL before it makes it abstract.
  memcpy(name, trace::kBrokerPrefix, sizeof trace::kBrokerPrefix - 1);
  memcpy(name + sizeof trace::kBrokerPrefix - 1, image.settings.broker, trace::kBrokerName);
  constexpr std::size_t kLength =
      offsetof(sockaddr_un, sun_path) + 1 + sizeof trace::kBrokerPrefix - 1 + trace::kBrokerName;
  return set_patience(fd) && !is_error(call(SYS_connect, fd, &address, kLength));
}

/// The descriptor in the answer, 0 without one, or -errno.
long receive(long fd) {
  BrokerAnswer answer{};
  iovec part{&answer, sizeof answer};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))]{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  // Each signal of the program restarts the socket's timeout.
  const Nanoseconds end = base::monotonic_now() + kPatience;
  long got = 0;
  do {
    got = raw_syscall(SYS_recvmsg, fd, reinterpret_cast<long>(&message), MSG_CMSG_CLOEXEC);
  } while (got == -EINTR && base::monotonic_now() < end);
  if (got != static_cast<long>(sizeof answer)) {
    is_silent.store(true, std::memory_order_relaxed);
    return -ETIMEDOUT;
  }
  if (answer.error != 0) return -answer.error;
  const cmsghdr* with = CMSG_FIRSTHDR(&message);
  if (with == nullptr || with->cmsg_type != SCM_RIGHTS) return 0;
  int descriptor = 0;
  memcpy(&descriptor, CMSG_DATA(with), sizeof descriptor);
  return descriptor;
}

long ask(const BrokerRequest& request) {
  const long fd = raw_syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (is_error(fd)) return fd;
  long result = -ECONNREFUSED;
  if (reach(fd) && !is_error(raw_syscall(SYS_sendto, fd, reinterpret_cast<long>(&request),
                                         sizeof request, MSG_NOSIGNAL))) {
    result = receive(fd);
  }
  raw_syscall(SYS_close, fd);
  return result;
}

GEIGER_SLOW_PATH long request(BrokerAction action, const char* name) {
  if (image.settings.broker == nullptr || is_silent.load(std::memory_order_relaxed)) return -EACCES;
  BrokerRequest wanted{};
  if (strlen(name) >= sizeof wanted.name) return -ENAMETOOLONG;
  wanted.action = action;
  memcpy(wanted.secret, image.settings.broker + trace::kBrokerName, sizeof wanted.secret);
  strcpy(wanted.name, name);
  return ask(wanted);
}

}  // namespace

long open_by_broker(const char* name) {
  const long fd = request(BrokerAction::kOpen, name);
  return fd == 0 ? -EPROTO : fd;
}

bool remove_by_broker(const char* name) { return request(BrokerAction::kRemove, name) == 0; }

namespace {

using base::is_error;
using base::raw_syscall;

constexpr std::size_t kPathBytes = 1024;
constexpr std::uint32_t kMaxNameTries = 1000;

/// File names stay readable in any shell.
void append_plain(base::TextBuilder& path, const char* text) {
  for (; *text != '\0'; ++text) {
    const char c = *text;
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '+';
    path.append(is_plain ? c : '_');
  }
}

trace::Identity identity(const Segment* before) {
  std::uint32_t mode = image.origin.is_forked ? trace::kModeForked : 0;
  if (image.origin.is_attached) mode |= trace::kModeAttached;
  if (calls_privately) mode |= trace::kModePrivateCalls;
  mode |= mode_of(image.settings);
  if (before != nullptr) mode |= trace::kModeContinued;
  const trace::FileHeader* last = before == nullptr ? nullptr : before->writer.header();
  return {.seed = image.origin.seed,
          .interval = before == nullptr ? image.intervals.own.load(std::memory_order_relaxed)
                                        : before->epoch.interval.load(std::memory_order_relaxed),
          .mode = mode,
          .start_monotonic = base::monotonic_now(),
          .start_realtime = base::realtime_now(),
          .start_processor_time = base::processor_time(),
          .executable = executable_path(),
          .started_as = started_as(),
          .allocator = allocator_path,
          .runtime_version = GEIGER_VERSION,
          .is_paused = image.settings.starts_paused,
          .guard_setting = last == nullptr ? image.settings.guard
                                           : last->guard_setting.load(std::memory_order_relaxed),
          .image_start = last == nullptr ? 0 : last->image_start,
          .segment = last == nullptr ? 0 : last->segment + 1,
          .asked = before == nullptr ? nullptr : before->writer.control()};
}

using Path = char[kPathBytes];

/// DIR/<program>.<pid>.<n>.geiger, with the pid that the process itself sees. Returns the part
/// after the directory; null: too long.
const char* name_trace(std::uint64_t pid, std::uint32_t n, Path& path) {
  base::TextBuilder text(path, sizeof path);
  text.append(image.settings.directory).append('/');
  append_plain(text, started_as());
  text.append('.').append(pid);
  if (!text.append('.').append(std::uint64_t{n}).append(".geiger").fits()) return nullptr;
  return strrchr(path, '/') + 1;
}

/// Errors with which a directory refuses this process but maybe not others: it has changed its user
/// or its root.
bool is_refused_to_us(int error) {
  return error == EACCES || error == EPERM || error == ENOENT || error == ENOTDIR || error == EROFS;
}

/// 0 or the errno.
int open_trace(Segment& segment, std::uint32_t n, const trace::Identity& who) {
  Path path;
  const char* name = name_trace(static_cast<std::uint64_t>(raw_syscall(SYS_getpid)), n, path);
  if (name == nullptr) return ENAMETOOLONG;
  const int error = segment.writer.open(path, image.settings.capacity, who);
  if (!is_refused_to_us(error)) return error;
  const long fd = open_by_broker(name);
  if (fd == -EEXIST) return EEXIST;
  return is_error(fd) ? error : segment.writer.adopt(fd, image.settings.capacity, who);
}

/// Uses the first free n: pids are reused, and exec keeps them.
bool open_file(Segment& segment, const trace::Identity& who) {
  for (std::uint32_t tries = 0; tries < kMaxNameTries; ++tries) {
    const std::uint32_t n = image.segments.next_file++;
    image.segments.open_error = open_trace(segment, n, who);
    if (image.segments.open_error == EEXIST) continue;
    image.segments.files[who.segment % std::size(image.segments.files)] = n;
    return image.segments.open_error == 0;
  }
  return false;
}

/// A trace that only this process reads, through the API. Pages are allocated as they are written;
/// a child has its own. While it cannot continue in another segment it drops records, but does not
/// end.
bool open_memory(Segment& segment, const trace::Identity& who) {
  if (segment.memory == nullptr) segment.memory = map_pages(image.settings.capacity);
  if (segment.memory == nullptr) return false;
  segment.writer.open_memory(segment.memory, image.settings.capacity, who);
  segment.writer.go_on_when_full();
  return true;
}

bool is_pinned(std::uint32_t number) {
  for (const ThreadState* state = first_state(); state != nullptr; state = state->next) {
    if (state->pin.load(std::memory_order_relaxed) == number) return true;
    if (state->decided_in.load(std::memory_order_relaxed) == number) return true;
  }
  return false;
}

/// Claims a place that no thread can be using. One thread opens segments at a time, so a place that
/// is already claimed was abandoned by a jump.
bool claim(Segment& segment) {
  const std::uint32_t number = segment.number.load(std::memory_order_relaxed);
  const bool is_current = &segment == image.segments.current.load(std::memory_order_relaxed);
  if (is_current || (number != 0 && is_pinned(number))) return false;
  std::uint32_t readers = 0;
  return segment.readers.compare_exchange_strong(readers, kClaimed, std::memory_order_acq_rel) ||
         readers == kClaimed;
}

/// If the program reads traces, the oldest place, so that the remaining ones reach back furthest;
/// else the first, so that few stay mapped.
Segment* claim_place() {
  const bool is_read = image.settings.in_memory || image.program.reads_traces.load();
  bool is_tried[kSegments]{};
  for (std::size_t tries = 0; tries < kSegments; ++tries) {
    std::size_t next = kSegments;
    for (std::size_t i = 0; i < kSegments; ++i) {
      const bool is_better =
          next == kSegments || (is_read && image.segments.places[i].number.load() <
                                               image.segments.places[next].number.load());
      if (!is_tried[i] && is_better) next = i;
    }
    is_tried[next] = true;
    if (claim(image.segments.places[next])) return &image.segments.places[next];
  }
  return nullptr;
}

/// Truncates a trace of this image to its size if no supervisor will: programs that copy a 4 GiB
/// file read all of it, even if most of it is a hole.
void shrink(Segment& segment) {
  const bool is_own = segment.number.load(std::memory_order_relaxed) >= image.segments.first_number;
  if (!is_own || segment.memory != nullptr || segment.writer.header() == nullptr) return;
  if (segment.writer.control()->supervised.load(std::memory_order_relaxed) != 0) return;
  const trace::FileHeader& header = *segment.writer.header();
  // Without MADV_WIPEONFORK in the kernel, a child by fork may look like its parent.
  if (header.pid != static_cast<std::uint32_t>(raw_syscall(SYS_getpid))) return;
  const std::uint32_t n = image.segments.files[header.segment % std::size(image.segments.files)];
  Path path;
  if (name_trace(header.pid, n, path) != nullptr) segment.writer.shrink(path);
}

/// Claims and clears a place for a new segment.
Segment* free_place() {
  Segment* segment = claim_place();
  if (segment == nullptr) return nullptr;
  shrink(*segment);
  segment->number.store(0, std::memory_order_relaxed);
  if (segment->memory != nullptr) {
    give_back_pages(segment->memory, image.settings.capacity);
  } else {
    segment->writer.close();
  }
  segment->stacks.wipe();
  segment->epochs.wipe();
  segment->tallies.wipe();
  segment->codes.wipe();
  segment->interpreter.store(0, std::memory_order_relaxed);
  segment->interpreter_told.store(0, std::memory_order_relaxed);
  segment->modules_written.store(0, std::memory_order_relaxed);
  return segment;
}

/// 0: no room.
trace::Ref record_epoch(Segment& segment, std::uint64_t interval) {
  const trace::Ref ref =
      trace::append<trace::EpochRecord>(segment.writer, {}, [&](trace::EpochRecord& record) {
        record.time = base::monotonic_now();
        record.interval = interval;
        record.lambda_bits = std::bit_cast<std::uint64_t>(sampling::rate_of(interval));
      }).ref;
  if (ref == 0) return 0;
  segment.epochs.insert(interval, ref);
  std::uint64_t largest = image.intervals.largest.load(std::memory_order_relaxed);
  while (largest < interval && !image.intervals.largest.compare_exchange_weak(
                                   largest, interval, std::memory_order_relaxed)) {
  }
  return ref;
}

}  // namespace

namespace {

Segment& segment_numbered(std::uint32_t number) {
  for (Segment& segment : image.segments.places) {
    if (number != 0 && segment.number.load(std::memory_order_relaxed) == number) return segment;
  }
  return current_segment();
}

}  // namespace

// If our frame is at or above the one that pinned, a handler jumped out of that one. A segment with
// a decided sample is not reused; that of a sample whose handler decided another may be.
PinnedSegment::PinnedSegment(ThreadState& state, std::uint32_t number) : state_(state) {
  const void* frame = __builtin_frame_address(0);
  const bool is_nested = state.pin_frame != nullptr && frame < state.pin_frame;
  outer_ = is_nested ? state.pin.load(std::memory_order_relaxed) : 0;
  outer_frame_ = is_nested ? state.pin_frame : nullptr;
  state.pin_frame = frame;
  do {
    segment_ = &segment_numbered(number);
    state.pin.store(segment_->number.load(std::memory_order_relaxed), std::memory_order_relaxed);
  } while (segment_ != &segment_numbered(number));
}

PinnedSegment::~PinnedSegment() {
  state_.pin.store(outer_, std::memory_order_relaxed);
  state_.pin_frame = outer_frame_;
}

GEIGER_SLOW_PATH Segment* open_segment(const Segment* before) {
  Segment* segment = free_place();
  if (segment == nullptr) return nullptr;
  const trace::Identity who = identity(before);
  const bool is_open =
      (image.settings.in_memory ? open_memory(*segment, who) : open_file(*segment, who)) &&
      write_epoch(*segment, who.interval);
  if (is_open) segment->number.store(++image.segments.last_number, std::memory_order_relaxed);
  segment->readers.store(0, std::memory_order_release);
  return is_open ? segment : nullptr;
}

TraceView view_of(const Segment& segment) {
  TraceView view{};
  view.base = segment.writer.base(view.bytes);
  view.header = segment.writer.header();
  view.number = segment.number.load(std::memory_order_relaxed);
  return view;
}

bool hold_trace(std::uint32_t number, TraceView& view) {
  image.program.reads_traces.store(true, std::memory_order_relaxed);
  for (Segment& segment : image.segments.places) {
    if (segment.number.load(std::memory_order_acquire) != number) continue;
    std::uint32_t readers = segment.readers.load(std::memory_order_relaxed);
    do {
      if (readers >= kClaimed) return false;
    } while (
        !segment.readers.compare_exchange_weak(readers, readers + 1, std::memory_order_acq_rel));
    if (segment.number.load(std::memory_order_acquire) == number) {
      view = view_of(segment);
      return true;
    }
    segment.readers.fetch_sub(1, std::memory_order_release);
  }
  return false;
}

void release_trace(std::uint32_t number) {
  for (Segment& segment : image.segments.places) {
    if (segment.number.load(std::memory_order_relaxed) != number) continue;
    segment.readers.fetch_sub(1, std::memory_order_release);
  }
}

void forget_readers() {
  for (Segment& segment : image.segments.places) {
    if (segment.readers.exchange(0, std::memory_order_relaxed) == 0) continue;
    if (segment.number.load(std::memory_order_relaxed) != 0) segment.writer.leave();
    segment.memory = nullptr;
  }
}

trace::ThreadRecord* write_thread(Segment& segment, const ThreadState& state, std::uint8_t flags) {
  if (state.is_foreign) flags |= trace::kFlagForeignThread;
  const auto written = trace::append<trace::ThreadRecord>(
      segment.writer, {.thread = state.index, .flags = flags}, [&](trace::ThreadRecord& record) {
        record.start = state.start;
        record.tid = state.tid;
      });
  if (!written) return nullptr;
  const bool goes_on = segment.writer.header()->segment != 0;
  if (goes_on && state.has_name) write_thread_name(segment, state);
  return written.record;
}

bool write_thread_name(Segment& segment, const ThreadState& state) {
  const auto written = trace::append<trace::ThreadNameRecord>(
      segment.writer, {.thread = state.index}, [&](trace::ThreadNameRecord& record) {
        record.time = base::monotonic_now();
        memcpy(record.name, state.name, sizeof record.name);
      });
  return static_cast<bool>(written);
}

void remove_trace(std::uint32_t n) {
  Path path;
  const char* name = name_trace(current_segment().writer.header()->pid, n, path);
  if (name == nullptr) return;
  const long removed = raw_syscall(SYS_unlinkat, AT_FDCWD, reinterpret_cast<long>(path), 0);
  if (is_error(removed) && is_refused_to_us(static_cast<int>(-removed))) remove_by_broker(name);
}

void shrink_traces() {
  for (Segment& segment : image.segments.places) shrink(segment);
}

bool write_epoch(Segment& segment, std::uint64_t interval) {
  const trace::Ref ref = record_epoch(segment, interval);
  if (ref == 0) return false;
  segment.epoch.interval.store(interval, std::memory_order_relaxed);
  // Last: a thread that sees the new reference finds its record complete.
  segment.epoch.ref.store(ref, std::memory_order_release);
  if (probes::wants_intervals()) [[unlikely]]
    probes::fire_interval(interval, sampling::rate_of(interval));
  return true;
}

trace::Ref epoch_of_interval(Segment& segment, std::uint64_t interval) {
  if (interval == 0 || interval > kMostInterval) return 0;
  const trace::Ref known = segment.epochs.find(interval);
  return known != 0 ? known : record_epoch(segment, interval);
}

}  // namespace geiger::capture
