#include "runtime/capture/image.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <bit>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/raw_syscall.h"
#include "runtime/capture/arena.h"
#include "runtime/capture/filter.h"
#include "runtime/capture/thread_state.h"
#include "runtime/probes/probes.h"
#include "runtime/unwind/unwind.h"
#include "sampling/logarithm.h"
#include "sampling/prng.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace geiger::capture {

constinit Image image{};
constinit Filter filter{};
constinit const char* allocator_path = "";

namespace {

using base::is_error;
using base::raw_syscall;

constexpr std::size_t kPathBytes = 1024;
constexpr int kMaxNameTries = 1000;

constinit char executable[kPathBytes]{};

/// Forks prepared by this process, so that with a given seed the children's
/// seeds differ and can still be repeated.
constinit std::atomic<std::uint64_t> forks{0};

/// 1 in the process that set it, 0 in a child made by fork or clone without
/// CLONE_VM: its page is wiped on fork. vfork shares it, as it shares the heap.
constinit std::atomic<std::uint32_t>* is_own_process = nullptr;

void prepare_fork() { forks.fetch_add(1, std::memory_order_relaxed); }

/// Sends the child's next allocation to the slow path, where it starts anew.
/// A fork from inside decide() (a handler) leaves that to decide() itself.
void enter_child() {
  ThreadState* state = own_state();
  if (state == nullptr || state->armed.load(std::memory_order_relaxed) == kTaken) return;
  state->armed.store(0, std::memory_order_relaxed);
  exchange_countdown(0);
}

/// Text built without libc's formatting.
class PathBuilder {
 public:
  void append(const char* text) {
    for (; *text != '\0'; ++text) put(*text);
  }
  /// File names stay readable in any shell.
  void append_plain(const char* text) {
    for (; *text != '\0'; ++text) {
      const char c = *text;
      const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '+';
      put(is_plain ? c : '_');
    }
  }
  void append(std::uint64_t number) {
    char digits[20];
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    while (count > 0) put(digits[--count]);
  }
  [[nodiscard]] const char* text() const { return text_; }
  [[nodiscard]] bool fits() const { return length_ < sizeof text_ - 1; }

 private:
  void put(char c) {
    if (length_ < sizeof text_ - 1) text_[length_++] = c;
  }
  char text_[kPathBytes]{};
  std::size_t length_ = 0;
};

void find_executable() {
  const long length =
      raw_syscall(SYS_readlinkat, -100 /* AT_FDCWD */, reinterpret_cast<long>("/proc/self/exe"),
                  reinterpret_cast<long>(executable), kPathBytes - 1);
  if (!is_error(length)) {
    executable[length] = '\0';
    return;
  }
  const auto* name = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (name != nullptr) strncpy(executable, name, kPathBytes - 1);
}

/// What the user started: the name given to exec, also of a link or a script.
const char* program_name() {
  const auto* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (started == nullptr) started = executable;
  const char* slash = strrchr(started, '/');
  return slash == nullptr ? started : slash + 1;
}

/// Enough of a hash to tell programs apart in derived seeds (FNV-1a).
std::uint64_t hash_text(const char* text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (; *text != '\0'; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3U;
  return hash;
}

/// Fresh from the kernel, or derived from the given seed: the run's first process
/// uses it as it is, every other image a number of its own.
std::uint64_t choose_seed(bool is_child) {
  std::uint64_t seed = 0;
  if (image.settings.has_seed) {
    seed = is_child ? image.seed + 0x9e3779b97f4a7c15U * forks.load(std::memory_order_relaxed)
                    : image.settings.seed;
    const auto pid = static_cast<std::uint64_t>(raw_syscall(SYS_getpid));
    const bool is_root = image.settings.root_pid == 0 || image.settings.root_pid == pid;
    if (is_child) return sampling::splitmix64(seed);
    if (is_root) return seed;
    seed ^= hash_text(executable) + (pid - image.settings.root_pid);
    return sampling::splitmix64(seed);
  }
  if (raw_syscall(SYS_getrandom, reinterpret_cast<long>(&seed), sizeof seed, GRND_NONBLOCK) ==
      sizeof seed) {
    return seed;
  }
  // Early boot without entropy: the kernel's per-exec bytes, the clock and the
  // pid differ between any two images.
  const auto* random = reinterpret_cast<const std::uint64_t*>(getauxval(AT_RANDOM));
  seed = (random == nullptr ? 0 : *random) ^ base::monotonic_now() ^
         static_cast<std::uint64_t>(raw_syscall(SYS_getpid)) << 32;
  return sampling::splitmix64(seed);
}

trace::Identity identity(bool is_child) {
  std::uint32_t mode = is_child ? trace::kModeForked : 0;
  if (image.settings.is_pure) mode |= trace::kModePure;
  if (image.settings.use_frame_pointers) mode |= trace::kModeFramePointers;
  if (image.settings.free_stacks) mode |= trace::kModeFreeStacks;
  return {.seed = image.seed,
          .interval = image.own_interval.load(std::memory_order_relaxed),
          .mode = mode,
          .start_monotonic = base::monotonic_now(),
          .start_realtime = base::realtime_now(),
          .executable = executable,
          .allocator = allocator_path,
          .runtime_version = GEIGER_VERSION,
          .is_paused = image.settings.starts_paused};
}

/// DIR/<program>.<pid>.<n>.geiger with the first free n: pids return, and exec
/// keeps them.
bool open_trace(bool is_child) {
  const trace::Identity who = identity(is_child);
  const auto pid = static_cast<std::uint64_t>(raw_syscall(SYS_getpid));
  for (int n = 0; n < kMaxNameTries; ++n) {
    PathBuilder path;
    path.append(image.settings.directory);
    path.append("/");
    path.append_plain(program_name());
    path.append(".");
    path.append(pid);
    path.append(".");
    path.append(static_cast<std::uint64_t>(n));
    path.append(".geiger");
    if (!path.fits()) return false;
    const int error = image.writer.open(path.text(), image.settings.capacity, who);
    if (error != EEXIST) return error == 0;
  }
  return false;
}

/// A trace that only this process reads, through the API. Pages are taken as they are
/// written; a child's has its own.
bool open_memory(bool is_child) {
  void* memory = map_pages(image.settings.capacity);
  if (memory == nullptr) return false;
  image.writer.open_memory(memory, image.settings.capacity, identity(is_child));
  return true;
}

/// 0: no room.
trace::Ref record_epoch(std::uint64_t interval) {
  constexpr trace::RecordHeader kHeader{trace::RecordType::kEpoch, 0,
                                        sizeof(trace::EpochRecord) / 8, trace::kUnknownCpu, 0};
  const trace::Slot slot = image.writer.reserve(kHeader);
  if (!slot) return 0;
  auto* record = reinterpret_cast<trace::EpochRecord*>(slot.words);
  record->time = base::monotonic_now();
  record->interval = interval;
  record->lambda_bits = std::bit_cast<std::uint64_t>(sampling::rate_of(interval));
  trace::Writer::commit(slot, kHeader);
  image.epochs.insert(interval, slot.ref);
  return slot.ref;
}

/// Puts an interval in force.
bool write_epoch(std::uint64_t interval) {
  const trace::Ref ref = record_epoch(interval);
  if (ref == 0) return false;
  image.epoch.interval.store(interval, std::memory_order_relaxed);
  // Last: a thread that sees the new reference finds its record whole.
  image.epoch.ref.store(ref, std::memory_order_release);
  if (probes::wants_intervals()) [[unlikely]]
    probes::fire_interval(interval, sampling::rate_of(interval));
  return true;
}

bool watch_forks() {
  if (is_own_process == nullptr) {
    void* page = map_pages(4096);
    if (page == nullptr) return false;
    raw_syscall(SYS_madvise, reinterpret_cast<long>(page), 4096, MADV_WIPEONFORK);
    is_own_process = static_cast<std::atomic<std::uint32_t>*>(page);
    pthread_atfork(prepare_fork, nullptr, enter_child);
  }
  is_own_process->store(1, std::memory_order_relaxed);
  return true;
}

bool is_wanted(bool is_child) {
  if (image.settings.directory == nullptr && !image.settings.in_memory) return false;
  if (image.settings.follow_children) return true;
  const auto pid = static_cast<std::uint64_t>(raw_syscall(SYS_getpid));
  return !is_child && (image.settings.root_pid == 0 || image.settings.root_pid == pid);
}

bool start_image(bool is_child) {
  if (!is_wanted(is_child) || !watch_forks()) return false;
  image.seed = choose_seed(is_child);
  image.followed.store(0, std::memory_order_relaxed);
  image.utilization_served.store(0, std::memory_order_relaxed);
  const bool is_open = image.settings.in_memory ? open_memory(is_child) : open_trace(is_child);
  if (!is_open || !write_epoch(image.own_interval.load(std::memory_order_relaxed))) return false;
  list_ranges(image.writer.header()->runtime_ranges);
  image.writer.header()->state.store(trace::State::kSampling, std::memory_order_release);
  return true;
}

/// First slow path of a process. Other threads' first allocations may pass
/// unsampled meanwhile; there are none in practice, the loader allocates first.
GEIGER_SLOW_PATH bool start_slow() {
  Phase expected = Phase::kUninitialised;
  if (!image.phase.compare_exchange_strong(expected, Phase::kStarting, std::memory_order_acq_rel)) {
    return false;
  }
  image.settings = read_settings();
  set_own_interval(image.settings.interval);
  image.number = 1;
  filter.start();
  image.is_held.store(image.settings.in_memory, std::memory_order_relaxed);
  bool started = false;
  if (image.settings.directory != nullptr || image.settings.in_memory) {
    find_executable();
    unwind::init();
    started = start_image(false);
  }
  image.phase.store(started ? Phase::kSampling : Phase::kOff, std::memory_order_release);
  return started;
}

/// First slow path of a fork's child: nothing of the parent's trace is touched.
GEIGER_SLOW_PATH bool start_child_slow() {
  Phase expected = Phase::kSampling;
  if (!image.phase.compare_exchange_strong(expected, Phase::kStarting, std::memory_order_acq_rel)) {
    return false;
  }
  retire_all_but(own_state());
  image.stacks.reset();
  image.epochs.reset();
  ++image.number;
  image.threads.store(0, std::memory_order_relaxed);
  image.modules_written.store(0, std::memory_order_relaxed);
  const bool started = start_image(true);
  image.phase.store(started ? Phase::kSampling : Phase::kOff, std::memory_order_release);
  return started;
}

}  // namespace

bool ready(bool& is_fresh) {
  const Phase phase = image.phase.load(std::memory_order_acquire);
  if (phase == Phase::kSampling) {
    if (is_own_process->load(std::memory_order_relaxed) != 0) return !image.writer.is_stopped();
    return is_fresh = start_child_slow();
  }
  if (phase == Phase::kUninitialised) return is_fresh = start_slow();
  return false;
}

bool is_recording() {
  return image.phase.load(std::memory_order_acquire) == Phase::kSampling &&
         is_own_process->load(std::memory_order_relaxed) != 0 && !image.writer.is_stopped();
}

void follow_control() {
  const std::uint64_t wanted =
      image.writer.control()->requested_interval.load(std::memory_order_relaxed);
  std::uint64_t followed = image.followed.load(std::memory_order_relaxed);
  // What was followed once may have been changed by the program since.
  if (wanted == followed || wanted == 0 || wanted > kMostInterval) return;
  if (image.followed.compare_exchange_strong(followed, wanted, std::memory_order_relaxed)) {
    set_interval(wanted);
  }
}

bool is_paused() {
  return image.is_held.load(std::memory_order_relaxed) ||
         image.writer.control()->paused.load(std::memory_order_relaxed) != 0;
}

bool set_interval(std::uint64_t interval) {
  if (interval == 0 || interval > kMostInterval || !is_recording()) return false;
  std::uint64_t current = image.epoch.interval.load(std::memory_order_relaxed);
  if (interval == current) return true;
  // One thread writes the epoch; the others meet it at their next slow path.
  const bool is_first =
      image.epoch.interval.compare_exchange_strong(current, interval, std::memory_order_acq_rel);
  return !is_first || write_epoch(interval);
}

trace::Ref epoch_of_interval(std::uint64_t interval) {
  if (interval == 0 || interval > kMostInterval) return 0;
  const trace::Ref known = image.epochs.find(interval);
  return known != 0 ? known : record_epoch(interval);
}

void set_own_interval(std::uint64_t interval) {
  image.own_interval.store(interval, std::memory_order_relaxed);
}

const char* executable_path() { return executable; }

}  // namespace geiger::capture
