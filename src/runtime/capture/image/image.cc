#include "runtime/capture/image/image.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "base/attachment.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/loader.h"
#include "base/raw_syscall.h"
#include "base/text_builder.h"
#include "runtime/capture/control/dormancy.h"
#include "runtime/capture/control/exit_scan.h"
#include "runtime/capture/image/checkpoint.h"
#include "runtime/capture/program/names.h"
#include "runtime/capture/sample/live_samples.h"
#include "runtime/capture/sample/record_stack.h"
#include "runtime/capture/sample/sample.h"
#include "runtime/capture/tables/arena.h"
#include "runtime/capture/tables/filter.h"
#include "runtime/capture/thread/thread_state.h"
#include "runtime/unwind/unwind.h"
#include "sampling/samplers.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace geiger::capture {

constinit Image image{};
constinit const char* allocator_path = "";
constinit bool calls_privately = false;
constinit std::atomic<std::uint32_t>* is_own_process = nullptr;

namespace {

using base::is_error;
using base::raw_syscall;

constexpr std::size_t kPathBytes = 1024;

constinit char executable[kPathBytes]{};
/// A copy, because a program may overwrite the original and its children need the name too.
constinit char started_name[sizeof trace::FileHeader::started_as]{};

/// Forks prepared by this process. With a given seed, they make the children's seeds different but
/// reproducible.
constinit std::atomic<std::uint64_t> forks{0};

void prepare_fork() { forks.fetch_add(1, std::memory_order_relaxed); }

/// Sends the child's next allocation to the slow path, which starts its image. After a fork from
/// inside decide() (a handler), decide() itself does so.
void enter_child() {
  ThreadState* state = own_state();
  if (state == nullptr || state->armed.load(std::memory_order_relaxed) == kTaken) return;
  state->armed.store(0, std::memory_order_relaxed);
  exchange_countdown(0);
}

void find_started_name() {
  const auto* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (started == nullptr) started = executable;
  const char* slash = strrchr(started, '/');
  base::TextBuilder(started_name, sizeof started_name)
      .append(slash == nullptr ? started : slash + 1);
}

void find_executable() {
  const long length =
      raw_syscall(SYS_readlinkat, -100 /* AT_FDCWD */, reinterpret_cast<long>("/proc/self/exe"),
                  reinterpret_cast<long>(executable), kPathBytes - 1);
  if (!is_error(length)) {
    executable[length] = '\0';
    find_started_name();
    return;
  }
  const auto* name = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (name != nullptr) strncpy(executable, name, kPathBytes - 1);
  find_started_name();
}

/// FNV-1a: good enough to give different programs different seeds.
std::uint64_t hash_text(const char* text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (; *text != '\0'; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3U;
  return hash;
}

/// Random from the kernel, or derived from the given seed: the run's first process uses that seed
/// itself, every other image a different number.
std::uint64_t choose_seed(bool is_child) {
  std::uint64_t seed = 0;
  if (image.settings.has_seed) {
    if (!is_child && sleeps() && image.origin.generation > 0)
      return sampling::splitmix64(image.origin.seed);
    seed = is_child
               ? image.origin.seed + 0x9e3779b97f4a7c15U * forks.load(std::memory_order_relaxed)
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
  const auto* random = reinterpret_cast<const char*>(getauxval(AT_RANDOM));  // Not aligned.
  if (random != nullptr) memcpy(&seed, random, sizeof seed);
  seed ^= base::monotonic_now() ^ static_cast<std::uint64_t>(raw_syscall(SYS_getpid)) << 32;
  return sampling::splitmix64(seed);
}

/// In glibc, pthread_atfork() is linked into the program and calls __register_atfork(), which musl
/// lacks.
void watch_by_handlers() {
  using Handler = void (*)();
  using Register = int (*)(Handler prepare, Handler parent, Handler child, void* library);
  using Watch = int (*)(Handler prepare, Handler parent, Handler child);
  if (void* function = base::find_function("__register_atfork"); function != nullptr) {
    reinterpret_cast<Register>(function)(prepare_fork, nullptr, enter_child, nullptr);
  } else if (void* other = base::find_function("pthread_atfork"); other != nullptr) {
    reinterpret_cast<Watch>(other)(prepare_fork, nullptr, enter_child);
  }
}

bool watch_forks() {
  if (is_own_process == nullptr) {
    void* page = map_pages(4096);
    if (page == nullptr) return false;
    raw_syscall(SYS_madvise, reinterpret_cast<long>(page), 4096, MADV_WIPEONFORK);
    is_own_process = static_cast<std::atomic<std::uint32_t>*>(page);
    watch_by_handlers();
  }
  is_own_process->store(1, std::memory_order_relaxed);
  return true;
}

bool is_wanted(bool is_child) {
  const bool has_place = image.settings.directory != nullptr || image.settings.in_memory;
  if (!has_place && !sleeps()) return false;
  if (image.settings.follow_children) return true;
  const auto pid = static_cast<std::uint64_t>(raw_syscall(SYS_getpid));
  return !is_child && (image.settings.root_pid == 0 || image.settings.root_pid == pid);
}

}  // namespace

void Intervals::start(std::uint64_t share) {
  largest.store(0, std::memory_order_relaxed);
  followed.store(0, std::memory_order_relaxed);
  doubled_at.store(0, std::memory_order_relaxed);
  governor.start(share);
}

void Served::start() {
  utilization.store(0, std::memory_order_relaxed);
  residency.store(0, std::memory_order_relaxed);
  segment.store(0, std::memory_order_relaxed);
}

namespace {

/// After a bug of ours: ends the recording with a mark that names the place. Only once, as writing
/// the mark may fail too.
GEIGER_SLOW_PATH void stop_for_check(const char* file, int line) {
  static constinit std::atomic<bool> is_told{false};
  if (!is_recording() || is_told.exchange(true, std::memory_order_relaxed)) return;
  const char* name = strrchr(file, '/');
  char text[128];
  base::TextBuilder place(text, sizeof text);
  place.append("geiger: failed check at ").append(name == nullptr ? file : name + 1);
  place.append(':').append(static_cast<std::uint64_t>(line));
  write_mark(text, strlen(text));
  current_segment().writer.stop(trace::StopReason::kFailedCheck, 0, base::monotonic_now());
}

}  // namespace

bool start_image(bool is_child) {
  if (!is_wanted(is_child) || !watch_forks()) return false;
  // A child by fork is confined as its parent is. Without a clock nothing can be recorded.
  const bool is_mute = base::confinement.load() == base::Confinement::kTotal;
  image.segments.open_error = is_mute ? EPERM : 0;
  if (is_mute) return false;
  base::on_failed_check.store(stop_for_check, std::memory_order_release);
  image.origin.seed = choose_seed(is_child);
  image.origin.is_forked = is_child;
  if (sleeps()) image.origin.is_attached = !is_child;
  ++image.origin.generation;
  image.segments.first_number = image.segments.last_number + 1;
  if (is_child) {
    image.segments.next_file = 0;
    forget_readers();
  }
  image.threads.store(0, std::memory_order_relaxed);
  image.intervals.start(image.settings.share);
  image.served.start();
  image.segments.continuation.by.store(nullptr, std::memory_order_relaxed);
  image.segments.continuation.before = nullptr;
  image.live.thinning.store(0, std::memory_order_relaxed);
  Segment* segment = open_segment(nullptr);
  if (segment == nullptr) return false;
  filter.take_pages();
  list_ranges(segment->writer.header()->runtime_ranges);
  segment->full_at = full_at(*segment);
  image.segments.current.store(segment, std::memory_order_release);
  segment->writer.header()->state.store(trace::State::kSampling, std::memory_order_release);
  begin_allocator_draws();
  return true;
}

namespace {

/// Goes to sleep, after the initialisation that is safe only while no other thread runs. Without a
/// bell only root can wake it, on a borrowed thread.
bool lie_down() {
  const bool is_ready = is_wanted(false) && watch_forks();
  if (is_ready) {
    hang_bell();
    find_executable();
    unwind::init();
    find_interpreter();
    note_settings_asleep();
  }
  image.phase.store(is_ready ? Phase::kDormant : Phase::kOff, std::memory_order_release);
  return false;
}

/// First slow path of a process, or its first pthread_create. Allocations of other threads
/// meanwhile would pass unsampled: only threads made by clone() alone could make some.
GEIGER_SLOW_PATH bool start_slow() {
  Phase expected = Phase::kUninitialised;
  if (!image.phase.compare_exchange_strong(expected, Phase::kStarting, std::memory_order_acq_rel)) {
    return false;
  }
  image.settings = read_settings();
  set_own_interval(image.settings.interval);
  filter.start();
  image.program.is_held.store(image.settings.in_memory, std::memory_order_relaxed);
  if (sleeps()) return lie_down();
  bool started = false;
  if (image.settings.directory != nullptr || image.settings.in_memory) {
    find_executable();
    unwind::init();
    find_interpreter();
    watch_exit();
    started = start_image(false);
  }
  image.phase.store(started ? Phase::kSampling : Phase::kOff, std::memory_order_release);
  return started;
}

/// In a fork's child without a trace: counts it in the parent's trace, which is still mapped.
void tell_parent() {
  const Segment* parents = image.segments.current.load(std::memory_order_relaxed);
  if (parents == nullptr || image.segments.open_error == 0 || image.settings.in_memory) return;
  trace::FileHeader* header = parents->writer.header();
  header->children_errno.store(image.segments.open_error, std::memory_order_relaxed);
  header->refused_children.fetch_add(1, std::memory_order_relaxed);
}

/// First slow path of a fork's child: the parent's records are not touched.
GEIGER_SLOW_PATH bool start_child_slow() {
  Phase expected = Phase::kSampling;
  if (!image.phase.compare_exchange_strong(expected, Phase::kStarting, std::memory_order_acq_rel)) {
    return false;
  }
  retire_all_but(own_state());
  forget_rendezvous();
  const bool started = start_image(true);
  if (!started) tell_parent();
  image.phase.store(started ? Phase::kSampling : Phase::kOff, std::memory_order_release);
  return started;
}

/// Clears the threads and live samples that an earlier image of this process left.
void forget_image() {
  if (const Segment* last = image.segments.current.load(std::memory_order_relaxed);
      last != nullptr) {
    retire_gone(last->writer.header()->pid);
  }
  image.live.table.for_each([](std::uint64_t address, std::uint64_t) {
    take_live(reinterpret_cast<const void*>(address));
  });
}

void begin_first_image() {
  filter.start();
  find_executable();
  unwind::init_late();
}

}  // namespace

void prepare_child() { prepare_fork(); }

void begin_child() {
  if (is_own_process == nullptr || is_own_process->load(std::memory_order_relaxed) != 0) return;
  enter_child();
}

int start_attached(const Settings& settings) {
  Phase before = image.phase.load(std::memory_order_acquire);
  if (!can_attach_in(before) ||
      !image.phase.compare_exchange_strong(before, Phase::kStarting, std::memory_order_acq_rel)) {
    return base::kIsRecording;
  }
  const bool was_asleep = before == Phase::kDormant;
  if (before == Phase::kUninitialised) begin_first_image();
  if (before == Phase::kDetached) forget_image();
  // A child by fork that has not taken a slow path since.
  if (was_asleep && is_own_process->load(std::memory_order_relaxed) == 0) forget_rendezvous();
  image.origin.is_attached = true;
  image.settings = settings;
  image.settings.is_dormant = was_asleep;
  set_own_interval(settings.interval);
  image.program.is_held.store(false, std::memory_order_relaxed);
  image.sleeper.is_for_tools.store(false, std::memory_order_relaxed);
  const bool started = start_image(false);
  const Phase otherwise = was_asleep ? Phase::kDormant : Phase::kDetached;
  image.phase.store(started ? Phase::kSampling : otherwise, std::memory_order_release);
  if (started) return 0;
  return image.segments.open_error != 0 ? image.segments.open_error : ENOMEM;
}

bool can_attach_in(Phase phase) {
  return phase == Phase::kUninitialised || phase == Phase::kDetached || phase == Phase::kDormant;
}

Readiness start_if_due() {
  const auto started = [](bool has_started) {
    return has_started ? Readiness::kJustStarted : Readiness::kNotRecording;
  };
  const Phase phase = image.phase.load(std::memory_order_acquire);
  if (phase == Phase::kUninitialised) return started(start_slow());
  if (phase != Phase::kSampling) return Readiness::kNotRecording;
  if (is_own_process->load(std::memory_order_relaxed) == 0) return started(start_child_slow());
  return current_segment().writer.is_stopped() ? Readiness::kNotRecording : Readiness::kRecording;
}

bool is_recording() {
  return image.phase.load(std::memory_order_acquire) == Phase::kSampling &&
         is_own_process->load(std::memory_order_relaxed) != 0 &&
         !current_segment().writer.is_stopped();
}

const char* executable_path() { return executable; }

const char* started_as() { return started_name; }

}  // namespace geiger::capture
