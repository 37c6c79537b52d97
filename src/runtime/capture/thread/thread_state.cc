#include "runtime/capture/thread/thread_state.h"

#include <errno.h>
#include <sys/uio.h>

#include "base/raw_syscall.h"
#include "runtime/capture/tables/arena.h"

namespace geiger::capture {

constinit thread_local ThreadLocal tls{};

namespace {

/// States looked at for reuse before a new one is made: bounds thread start.
constexpr int kMaxSearch = 128;

/// Of those, the most whose owner the kernel is asked about.
constexpr int kMaxQuestions = 4;

constinit std::atomic<ThreadState*> registry{nullptr};
constinit std::atomic<ThreadState*> search_from{nullptr};

/// If a new thread has the same id, the state looks in use and is not reused.
bool is_gone(std::uint64_t tid, std::uint32_t pid) {
  if (tid == 0) return true;  // It gave up the state before it ended.
  return base::raw_syscall(SYS_tgkill, pid, static_cast<long>(tid), 0) == -ESRCH;
}

bool try_adopt(ThreadState& state, std::uint32_t pid, int& questions) {
  if (state.lifecycle.load(std::memory_order_acquire) != kFree) return false;
  if (questions == 0) return false;
  --questions;
  const std::uint64_t owner = state.tid;
  if (!is_gone(owner, pid)) return false;
  std::uint32_t expected = kFree;
  if (!state.lifecycle.compare_exchange_strong(expected, kAdopting, std::memory_order_acq_rel)) {
    return false;
  }
  // Since then another thread may have adopted and retired it, and may still allocate in its last
  // destructors.
  if (state.tid == owner || is_gone(state.tid, pid)) return true;
  state.lifecycle.store(kFree, std::memory_order_release);
  return false;
}

/// Searches the registry from where the last search ended.
ThreadState* reuse_state(std::uint32_t pid) {
  ThreadState* start = search_from.load(std::memory_order_acquire);
  ThreadState* state = start != nullptr ? start : registry.load(std::memory_order_acquire);
  int questions = kMaxQuestions;
  for (int i = 0; i < kMaxSearch && state != nullptr; ++i) {
    if (try_adopt(*state, pid, questions)) {
      search_from.store(state->next, std::memory_order_release);
      return state;
    }
    state = state->next;
  }
  search_from.store(state, std::memory_order_release);
  return nullptr;
}

ThreadState* new_state() {
  auto* state = static_cast<ThreadState*>(arena_allocate(sizeof(ThreadState)));
  if (state == nullptr) return nullptr;
  state->lifecycle.store(kAdopting, std::memory_order_relaxed);
  ThreadState* newest = registry.load(std::memory_order_relaxed);
  do {
    state->next = newest;
  } while (!registry.compare_exchange_weak(newest, state, std::memory_order_acq_rel));
  return state;
}

}  // namespace

std::uint64_t own_thread_id() {
  const long id = base::raw_syscall(SYS_gettid);
  return base::is_error(id) ? kUnknownThread : static_cast<std::uint64_t>(id);
}

ThreadState* adopt_state(std::uint32_t pid) {
  ThreadState* state = reuse_state(pid);
  if (state == nullptr) state = new_state();
  if (state == nullptr) return nullptr;
  state->armed.store(0, std::memory_order_relaxed);
  state->allocated_before = state->allocated.load(std::memory_order_relaxed);
  state->last_armed.store(0, std::memory_order_relaxed);
  state->settling.store(0, std::memory_order_relaxed);
  state->pending.store(0, std::memory_order_relaxed);
  state->deciding_frame = nullptr;
  state->walking_frame = nullptr;
  state->record = nullptr;
  state->tid = own_thread_id();
  state->segment = 0;
  state->generation = 0;
  state->pin.store(0, std::memory_order_relaxed);
  state->pin_frame = nullptr;
  state->decided_in.store(0, std::memory_order_relaxed);
  state->epoch.store(0, std::memory_order_relaxed);
  state->is_ending = false;
  state->nested_decisions = 0;
  state->is_telling = false;
  state->has_name = false;
  state->countdown = &tls.countdown;
  tls.state = state;
  state->lifecycle.store(kLive, std::memory_order_release);
  return state;
}

void retire_state(ThreadState& state) {
  // Sequentially consistent with settle_others(), which raises `reading` first and
  // then looks at this: one of the two sees the other.
  state.lifecycle.store(kFree, std::memory_order_seq_cst);
}

ThreadState* first_state() { return registry.load(std::memory_order_acquire); }

void retire_gone(std::uint32_t pid) {
  for (ThreadState* state = first_state(); state != nullptr; state = state->next) {
    const bool is_live = state->lifecycle.load(std::memory_order_acquire) == kLive;
    if (is_live && is_gone(state->tid, pid)) retire_state(*state);
  }
}

std::uint64_t counter_of_foreign(const ThreadState& state, std::uint32_t pid) {
  std::uint64_t rest = 0;
  const iovec here{&rest, sizeof rest};
  const iovec there{state.countdown, sizeof rest};
  const bool is_there = base::raw_syscall(SYS_tgkill, pid, static_cast<long>(state.tid), 0) == 0;
  const long got = base::raw_syscall(SYS_process_vm_readv, pid, reinterpret_cast<long>(&here), 1,
                                     reinterpret_cast<long>(&there), 1);
  return is_there && got == sizeof rest ? rest : kTaken;
}

void retire_all_but(const ThreadState* survivor) {
  for (ThreadState* state = first_state(); state != nullptr; state = state->next) {
    // The parent's allocations are not the child's, and none of its threads reads here.
    state->allocated.store(0, std::memory_order_relaxed);
    state->allocated_before = 0;
    state->reading.store(0, std::memory_order_relaxed);
    state->decided_in.store(0, std::memory_order_relaxed);
    if (state != survivor) state->lifecycle.store(kFree, std::memory_order_relaxed);
  }
}

}  // namespace geiger::capture
