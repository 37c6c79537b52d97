#include "trace/writer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "base/check.h"
#include "base/clock.h"
#include "base/raw_syscall.h"

namespace geiger::trace {

namespace {

using base::is_error;
using base::raw_syscall;

/// A trace with less capacity is refused.
constexpr Bytes kLeastCapacity = 256 * kKiB;

/// What a fresh trace allocates for itself: header, modules and first samples
/// of a short-lived process, so that most children need nothing more.
constexpr Bytes kFirstExtent = 64 * kKiB;

/// Mapped at first: 180,000 samples. Then it doubles, one system call each time.
constexpr Bytes kFirstMapping = 16 * kMiB;

/// Allocated at a time when no supervisor does so ahead of us: as much as there is already, up to
/// this.
constexpr Bytes kLargestExtent = kMiB;

/// Allocated at once on a kernel without MADV_POPULATE_WRITE (< 5.14), or that refuses it: later
/// growth could fault on a full disk, and such a fault is SIGBUS.
constexpr Bytes kOldKernelCapacity = 64 * kMiB;

/// The address space belongs to the program: take at most a sixteenth of a limited one.
constexpr Bytes kLimitShare = 16;

/// Sizes of files and mappings are multiples of the page, which is at most this large.
constexpr Bytes kLargestPage = 64 * kKiB;

constexpr Bytes round_up(Bytes value, Bytes unit) { return (value + unit - 1) / unit * unit; }

Bytes soft_limit(int resource) {
  rlimit limit{};
  if (is_error(raw_syscall(SYS_prlimit64, 0, resource, 0, reinterpret_cast<long>(&limit)))) {
    return ~Bytes{0};
  }
  return limit.rlim_cur == RLIM_INFINITY ? ~Bytes{0} : limit.rlim_cur;
}

/// ftruncate past RLIMIT_FSIZE raises SIGXFSZ in the program: stay below.
Bytes clamp_to_limits(Bytes capacity) {
  const Bytes file_limit = soft_limit(RLIMIT_FSIZE);
  const Bytes space_limit = soft_limit(RLIMIT_AS);
  if (capacity > kMaxCapacity) capacity = kMaxCapacity;
  if (capacity > file_limit) capacity = file_limit;
  if (space_limit != ~Bytes{0} && capacity > space_limit / kLimitShare) {
    capacity = space_limit / kLimitShare;
  }
  return capacity / kLargestPage * kLargestPage;
}

/// Allocates [0, bytes) of the file if the kernel cannot populate: by fallocate, or on file systems
/// without it by writing zeros.
int allocate_all(long fd, Bytes bytes) {
  const long result = raw_syscall(SYS_fallocate, fd, 0, 0, static_cast<long>(bytes));
  if (result != -EOPNOTSUPP && result != -ENOSYS) return is_error(result) ? int(-result) : 0;
  static constexpr char kZeros[4096] = {};
  for (Bytes at = 0; at < bytes; at += sizeof kZeros) {
    const long written = raw_syscall(SYS_pwrite64, fd, reinterpret_cast<long>(kZeros),
                                     sizeof kZeros, static_cast<long>(at));
    if (written != static_cast<long>(sizeof kZeros))
      return is_error(written) ? int(-written) : ENOSPC;
  }
  return 0;
}

/// Allocates pages of the file. 0 or -errno.
long allocate_pages(char* begin, Bytes bytes) {
  long result = 0;
  do {
    result = base::populate(begin, bytes);
  } while (result == -EINTR || result == -EAGAIN);
  // The kernel reports a file page that cannot be allocated as a bad address.
  return result == -EFAULT ? -ENOSPC : result;
}

void copy_text(char* to, std::size_t capacity, const char* from) {
  std::size_t i = 0;
  for (; from != nullptr && from[i] != '\0' && i + 1 < capacity; ++i) to[i] = from[i];
  to[i] = '\0';
}

/// Otherwise the first access to a page reads ahead into the hole, which takes 18 ms.
void advise_random(void* mapping, Bytes bytes) {
  raw_syscall(SYS_madvise, reinterpret_cast<long>(mapping), static_cast<long>(bytes), MADV_RANDOM);
}

void unmap(char* mapping, Bytes bytes) {
  if (mapping == nullptr) return;
  raw_syscall(SYS_munmap, reinterpret_cast<long>(mapping), static_cast<long>(bytes));
}

/// An open trace file, sized and allocated as far as it needs to be.
struct Prepared {
  Bytes capacity;
  Bytes mapped_bytes;
  Bytes allocated;  ///< May be written without asking for more.
  char* mapping;
};

/// 0 or an errno.
int prepare(long fd, Prepared& file) {
  file.capacity = clamp_to_limits(file.capacity);
  if (file.capacity < kLeastCapacity) return EFBIG;
  const long sized = raw_syscall(SYS_ftruncate, fd, static_cast<long>(file.capacity));
  if (is_error(sized)) return static_cast<int>(-sized);
  file.mapped_bytes = std::min(file.capacity, kFirstMapping);
  const long mapped = raw_syscall(SYS_mmap, 0, static_cast<long>(file.mapped_bytes),
                                  PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (is_error(mapped)) return static_cast<int>(-mapped);
  file.mapping = reinterpret_cast<char*>(mapped);
  advise_random(file.mapping, file.mapped_bytes);
  file.allocated = kFirstExtent;
  const long allocated = allocate_pages(file.mapping, kFirstExtent);
  const bool can_populate = allocated == 0 || allocated == -ENOSPC || allocated == -ENOMEM;
  if (can_populate) return static_cast<int>(-allocated);
  file.allocated = file.capacity = std::min(file.capacity, kOldKernelCapacity);
  return allocate_all(fd, file.capacity);
}

}  // namespace

int Writer::open(const char* path, Bytes capacity, const Identity& identity) {
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path),
                              O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode);
  return is_error(fd) ? int(-fd) : adopt(fd, capacity, identity);
}

int Writer::adopt(long fd, Bytes capacity, const Identity& identity) {
  Prepared file{capacity, 0, 0, nullptr};
  const int error = prepare(fd, file);
  // To a reader, an empty file means that there was no room even for a header.
  if (error != 0) raw_syscall(SYS_ftruncate, fd, 0);
  raw_syscall(SYS_close, fd);
  if (error != 0) {
    unmap(file.mapping, file.mapped_bytes);
    return error;
  }
  start_mapping(file.mapping, file.mapped_bytes, file.allocated);
  write_header(file.capacity, identity);
  return 0;
}

void Writer::open_memory(void* memory, Bytes capacity, const Identity& identity) {
  start_mapping(static_cast<char*>(memory), capacity, capacity);
  write_header(capacity, identity);
}

void Writer::start_mapping(char* base, Bytes bytes, Bytes allocated) {
  for (std::atomic<char*>& mapping : mappings_) mapping.store(nullptr, std::memory_order_relaxed);
  first_mapping_ = bytes;
  mappings_[0].store(base, std::memory_order_relaxed);
  current_.store(0, std::memory_order_relaxed);
  limit_.store(bytes, std::memory_order_relaxed);
  allocated_.store(allocated, std::memory_order_relaxed);
}

void Writer::write_header(Bytes capacity, const Identity& identity) {
  capacity_ = capacity;
  stops_when_full_ = true;
  phase_.store(Phase::kOpen, std::memory_order_relaxed);
  char* base = mappings_[0].load(std::memory_order_relaxed);
  auto* header = reinterpret_cast<FileHeader*>(base);
  control_ = reinterpret_cast<ControlPage*>(base + kControlOffset);
  header->version = kVersion;
#if defined(__x86_64__)
  header->machine = EM_X86_64;
#elif defined(__aarch64__)
  header->machine = EM_AARCH64;
#else
#error "which machine is this?"
#endif
  header->capacity = capacity;
  header->tail.store(kRecordsOffset, std::memory_order_relaxed);
  header->state.store(State::kStarting, std::memory_order_relaxed);
  header->mode = identity.mode;
  header->guard_setting.store(identity.guard_setting, std::memory_order_relaxed);
  header->pid = static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
  header->parent_pid = static_cast<std::uint32_t>(raw_syscall(SYS_getppid));
  header->page_size = static_cast<std::uint32_t>(getauxval(AT_PAGESZ));
  header->start_monotonic = identity.start_monotonic;
  header->start_realtime = identity.start_realtime;
  header->start_processor_time = identity.start_processor_time;
  header->seed = identity.seed;
  header->interval = identity.interval;
  copy_text(header->runtime_version, sizeof header->runtime_version, identity.runtime_version);
  copy_text(header->executable, sizeof header->executable, identity.executable);
  copy_text(header->started_as, sizeof header->started_as, identity.started_as);
  copy_text(header->allocator, sizeof header->allocator, identity.allocator);
  header->image_start = identity.image_start == 0 ? identity.start_monotonic : identity.image_start;
  header->segment = identity.segment;
  control_->watermark.store(allocated_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  control_->paused.store(identity.is_paused ? 1 : 0, std::memory_order_relaxed);
  if (identity.asked != nullptr) inherit(*identity.asked);
  // The magic last and as one word: a supervisor that acquires it sees the rest.
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(header->magic))
      .store(std::bit_cast<std::uint64_t>(kMagic), std::memory_order_release);
  header_ = header;
}

/// Except for storage, which each segment needs of its own, and marks, which go where they were
/// set.
void Writer::inherit(const ControlPage& asked) {
  const auto copy = [](auto& to, const auto& from) {
    to.store(from.load(std::memory_order_relaxed), std::memory_order_relaxed);
  };
  copy(control_->requested_interval, asked.requested_interval);
  copy(control_->requested_guard, asked.requested_guard);
  copy(control_->paused, asked.paused);
  copy(control_->wanted_utilization, asked.wanted_utilization);
  copy(control_->wanted_residency, asked.wanted_residency);
  copy(control_->wanted_segment, asked.wanted_segment);
}

void Writer::close() {
  for (std::size_t i = 0; i < kMaxMappings; ++i) {
    unmap(mappings_[i].load(std::memory_order_relaxed), first_mapping_ << i);
  }
  leave();
}

void Writer::leave() {
  for (std::atomic<char*>& mapping : mappings_) mapping.store(nullptr, std::memory_order_relaxed);
  header_ = nullptr;
  control_ = nullptr;
}

void Writer::note_stop(Nanoseconds now) {
  header_->stop_monotonic = now;
  header_->stop_processor_time = base::processor_time();
}

void Writer::finish(State state, Nanoseconds now) {
  // The controller that ended it may truncate the file as soon as it reads this state.
  if (state == State::kStopped) phase_.store(Phase::kEnded, std::memory_order_relaxed);
  note_stop(now);
  header_->state.store(state, std::memory_order_release);
}

// A reservation adds to the tail and then reads the limit; this clears the limit and then reads the
// tail. All four are sequentially consistent: a reservation that still read the limit is in front
// of the end.
void Writer::close_tail() {
  phase_.store(Phase::kEnded, std::memory_order_relaxed);
  if (limit_.exchange(0, std::memory_order_seq_cst) == 0) return;
  const Bytes tail = header_->tail.load(std::memory_order_seq_cst);
  header_->capacity = std::min(tail, capacity_);
}

namespace {

/// Whether the file is the trace with this header: another file may have its path now.
bool is_trace_of(long fd, const FileHeader& header) {
  constexpr std::size_t kBegin = offsetof(FileHeader, drops);
  alignas(FileHeader) char begin[kBegin];
  const long got = raw_syscall(SYS_pread64, fd, reinterpret_cast<long>(begin), kBegin, 0);
  const auto& found = *reinterpret_cast<const FileHeader*>(begin);
  return got == static_cast<long>(kBegin) && found.pid == header.pid && found.seed == header.seed &&
         found.start_monotonic == header.start_monotonic;
}

}  // namespace

void Writer::shrink(const char* path) {
  close_tail();
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path),
                              O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (is_error(fd)) return;
  if (is_trace_of(fd, *header_)) {
    raw_syscall(SYS_ftruncate, fd, static_cast<long>(header_->capacity));
  }
  raw_syscall(SYS_close, fd);
}

Slot Writer::reserve(std::uint64_t header) {
  if (is_stopped()) return {};
  const Bytes bytes = Bytes{RecordHeader::unpack(header).words} * 8;
  const Bytes begin = header_->tail.fetch_add(bytes, std::memory_order_seq_cst);
  const Bytes end = begin + bytes;
  if (!is_writable(end) && !make_writable_slow(end)) return {};
  char* base = mappings_[current_.load(std::memory_order_acquire)].load(std::memory_order_relaxed);
  auto* words = reinterpret_cast<std::uint64_t*>(base + begin);
  const std::uint64_t reserved = header | std::uint64_t{kReserved} << RecordHeader::kFlagsShift;
  // A killed writer must leave the size before any part of the body.
  std::atomic_ref(words[0]).store(reserved, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_release);
  return {words, static_cast<Ref>(begin / 8)};
}

const char* Writer::base(Bytes& bytes) const {
  const std::size_t current = current_.load(std::memory_order_acquire);
  bytes = first_mapping_ << current;
  return mappings_[current].load(std::memory_order_relaxed);
}

void Writer::count_drop(DropCause cause, std::uint64_t count) {
  if (header_ == nullptr || phase_.load(std::memory_order_relaxed) == Phase::kEnded) return;
  header_->drops[static_cast<std::size_t>(cause)].fetch_add(count, std::memory_order_relaxed);
}

void Writer::stop(StopReason reason, int error, Nanoseconds now) {
  Phase open = Phase::kOpen;
  if (header_ == nullptr ||
      !phase_.compare_exchange_strong(open, Phase::kStopped, std::memory_order_relaxed)) {
    return;
  }
  header_->stop_errno = error;
  note_stop(now);
  header_->stop_reason.store(reason, std::memory_order_relaxed);
  header_->state.store(State::kOff, std::memory_order_release);
}

void Writer::allocate_mapped() {
  if (header_ != nullptr && !is_stopped()) {
    populate(std::min(capacity_, first_mapping_ << current_.load(std::memory_order_acquire)));
  }
}

bool Writer::is_writable(Bytes end) const {
  return end <= limit_.load(std::memory_order_seq_cst) &&
         (end <= allocated_.load(std::memory_order_relaxed) ||
          end <= control_->watermark.load(std::memory_order_acquire));
}

/// The kernel is not asked in a program that restricted its system calls.
void Writer::stop_refused(StopReason reason, int error) {
  const bool is_confined = base::confinement.load() != base::Confinement::kNone;
  const Nanoseconds now = base::monotonic_now();
  is_confined ? stop(StopReason::kConfined, 0, now) : stop(reason, error, now);
}

GEIGER_SLOW_PATH bool Writer::make_writable_slow(Bytes end) {
  if (is_stopped()) return false;
  if (end > capacity_) {
    if (stops_when_full_) stop(StopReason::kTraceFull, 0, base::monotonic_now());
    return false;
  }
  while (end > first_mapping_ << current_.load(std::memory_order_acquire)) {
    if (double_mapping()) continue;
    stop_refused(StopReason::kMapFailed, ENOMEM);
    return false;
  }
  const long result = populate(end);
  if (is_error(result)) stop_refused(StopReason::kNoSpace, static_cast<int>(-result));
  return !is_error(result);
}

/// mremap of 0 bytes of a shared mapping makes a second, larger one of the same
/// file. Two threads may both make one: the slower unmaps its own.
bool Writer::double_mapping() {
  static_assert(kFirstMapping << (kMaxMappings - 1) >= kMaxCapacity);  // There is a next one.
  const std::size_t current = current_.load(std::memory_order_acquire);
  const Bytes bytes = first_mapping_ << (current + 1);
  const long result = raw_syscall(
      SYS_mremap, reinterpret_cast<long>(mappings_[current].load(std::memory_order_relaxed)), 0,
      static_cast<long>(bytes), MREMAP_MAYMOVE);
  if (is_error(result)) return false;
  auto* fresh = reinterpret_cast<char*>(result);
  advise_random(fresh, bytes);
  char* none = nullptr;
  if (!mappings_[current + 1].compare_exchange_strong(none, fresh, std::memory_order_acq_rel)) {
    raw_syscall(SYS_munmap, result, static_cast<long>(bytes));
  }
  std::size_t expected = current;
  current_.compare_exchange_strong(expected, current + 1, std::memory_order_acq_rel);
  // Unless it was closed or doubled meanwhile.
  Bytes before = first_mapping_ << current;
  limit_.compare_exchange_strong(before, bytes, std::memory_order_seq_cst);
  return true;
}

/// Allocates storage up to `end` and some more, unless there is enough. Two threads may do this for
/// the same pages at once: for the second they are there already.
long Writer::populate(Bytes end) {
  const std::size_t current = current_.load(std::memory_order_acquire);
  char* base = mappings_[current].load(std::memory_order_relaxed);
  const Bytes begin = std::max(allocated_.load(std::memory_order_relaxed),
                               control_->watermark.load(std::memory_order_acquire)) /
                      header_->page_size * header_->page_size;
  const Bytes extent = std::clamp(begin, kFirstExtent, kLargestExtent);
  const Bytes wanted = std::min({round_up(end, extent), capacity_, first_mapping_ << current});
  const long result = begin < wanted ? allocate_pages(base + begin, wanted - begin) : 0;
  if (is_error(result)) return result;
  Bytes seen = allocated_.load(std::memory_order_relaxed);
  while (seen < wanted &&
         !allocated_.compare_exchange_weak(seen, wanted, std::memory_order_relaxed)) {
  }
  return 0;
}

}  // namespace geiger::trace
