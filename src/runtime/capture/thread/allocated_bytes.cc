#include "runtime/capture/thread/allocated_bytes.h"

#include <time.h>

#include "base/raw_syscall.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/thread/thread_state.h"

namespace geiger::capture {
namespace {

/// Most attempts to read a thread that is inside a slow path, .1 ms apart.
constexpr int kMostTries = 100;

/// The fields of a thread's state at one instant.
struct Reading {
  std::uint64_t bytes;  ///< Of all owners of the state.
  std::uint64_t missing;
};

enum class Read : std::uint8_t {
  kDone,
  kChanging,  ///< Changed while it was read.
  kInside,    ///< Its thread is inside a slow path.
};

/// `rest()` reads the counter; kTaken if it is gone.
template <typename Rest>
Read read_state(const ThreadState& state, const Rest& rest, Reading& found) {
  if (state.generation != image.origin.generation) {  // Not counting in this recording.
    found = {state.allocated.load(std::memory_order_relaxed), 0};
    return Read::kDone;
  }
  const std::uint32_t before = state.settling.load(std::memory_order_acquire);
  const std::uint64_t settled = state.allocated.load(std::memory_order_relaxed);
  const std::uint64_t armed = state.armed.load(std::memory_order_relaxed);
  const std::uint64_t left = rest();
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool has_changed = state.settling.load(std::memory_order_relaxed) != before;
  if (has_changed) return Read::kChanging;
  if (before % 2 != 0 || armed == kTaken) return Read::kInside;
  if (left == kTaken) {
    found = {settled, armed};
    return Read::kDone;
  }
  if (left > armed) return Read::kInside;  // Below 0: it decides next.
  found = {settled + (armed - left), 0};
  return Read::kDone;
}

/// If we see a thread's end, its counter stays valid while the thread is kLive, and `reading` keeps
/// it valid.
Read read_known(ThreadState& state, Reading& found) {
  state.reading.fetch_add(1, std::memory_order_seq_cst);
  Read read = Read::kDone;
  if (state.lifecycle.load(std::memory_order_seq_cst) == kLive) {
    read = read_state(
        state, [&] { return std::atomic_ref(*state.countdown).load(std::memory_order_relaxed); },
        found);
  } else {
    // Allocations in its last destructors settle at once.
    found = {state.allocated.load(std::memory_order_relaxed), 0};
  }
  state.reading.fetch_sub(1, std::memory_order_release);
  return read;
}

Read read_any(ThreadState& state, std::uint32_t pid, Reading& found) {
  const bool is_live = state.lifecycle.load(std::memory_order_acquire) == kLive;
  if (!is_live || !state.is_foreign) return read_known(state, found);
  return read_state(
      state, [&] { return counter_of_foreign(state, pid); }, found);
}

void wait_a_moment() {
  const timespec moment{0, 100'000};
  base::raw_syscall(SYS_nanosleep, reinterpret_cast<long>(&moment), 0);
}

Reading read_patiently(ThreadState& state, std::uint32_t pid) {
  Reading found{};
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (read_any(state, pid, found) == Read::kDone) return found;
    // This handler interrupted its own thread's slow path, which cannot continue meanwhile.
    if (&state == own_state()) break;
    wait_a_moment();
  }
  return {state.allocated.load(std::memory_order_relaxed),
          state.last_armed.load(std::memory_order_relaxed)};
}

/// Starts the image if no allocation has started it yet.
bool begin_counting() { return start_if_due() != Readiness::kNotRecording && is_recording(); }

}  // namespace

Counted bytes_of_thread(std::uint64_t& bytes) {
  bytes = 0;
  if (!begin_counting()) return Counted::kNotRecording;
  const ThreadState* state = own_state();
  if (state == nullptr) return Counted::kYes;
  Reading found{};
  const auto rest = [] { return std::atomic_ref(tls.countdown).load(std::memory_order_relaxed); };
  Read read = Read::kChanging;  // By a handler of this thread.
  while (read == Read::kChanging) read = read_state(*state, rest, found);
  if (read == Read::kInside) return Counted::kInterrupted;
  bytes = found.bytes - state->allocated_before;
  return Counted::kYes;
}

Counted bytes_of_process(ProcessBytes& found) {
  found = {};
  if (!begin_counting()) return Counted::kNotRecording;
  const std::uint32_t pid = current_segment().writer.header()->pid;
  for (ThreadState* state = first_state(); state != nullptr; state = state->next) {
    const Reading read = read_patiently(*state, pid);
    found.bytes += read.bytes;
    found.missing += read.missing;
  }
  return Counted::kYes;
}

}  // namespace geiger::capture
