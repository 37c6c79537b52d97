#include "runtime/capture/thread_state.h"

#include "runtime/capture/arena.h"

namespace geiger::capture {

constinit thread_local ThreadLocal tls{};
constinit std::atomic<std::uint8_t> filter[kFilterBytes]{};

namespace {

/// Thread ends that must pass before a state is reused.
constexpr std::uint64_t kQuarantine = 32;

/// States looked at for reuse before a new one is made: bounds thread start.
constexpr int kMaxSearch = 128;

constinit std::atomic<ThreadState*> registry{nullptr};
constinit std::atomic<ThreadState*> search_from{nullptr};
constinit std::atomic<std::uint64_t> thread_ends{0};

bool try_adopt(ThreadState& state) {
  if (state.lifecycle.load(std::memory_order_acquire) != kFree) return false;
  if (thread_ends.load(std::memory_order_relaxed) - state.freed_at < kQuarantine) return false;
  std::uint32_t expected = kFree;
  return state.lifecycle.compare_exchange_strong(expected, kAdopting, std::memory_order_acq_rel);
}

/// Looks round the registry from where the last search ended.
ThreadState* reuse_state() {
  ThreadState* start = search_from.load(std::memory_order_acquire);
  ThreadState* state = start != nullptr ? start : registry.load(std::memory_order_acquire);
  for (int i = 0; i < kMaxSearch && state != nullptr; ++i) {
    if (try_adopt(*state)) {
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

ThreadState* adopt_state() {
  ThreadState* state = reuse_state();
  if (state == nullptr) state = new_state();
  if (state == nullptr) return nullptr;
  ++state->generation;
  state->armed.store(0, std::memory_order_relaxed);
  state->deciding_frame = nullptr;
  state->walking_frame = nullptr;
  state->record = nullptr;
  state->image = 0;
  state->epoch = 0;
  state->is_ending = false;
  state->nested_decisions = 0;
  state->has_name = false;
  state->countdown = &tls.countdown;
  tls.state = state;
  tls.state_generation = state->generation;
  state->lifecycle.store(kLive, std::memory_order_release);
  return state;
}

void retire_state(ThreadState& state) {
  state.freed_at = thread_ends.fetch_add(1, std::memory_order_relaxed);
  // Sequentially consistent with settle_others(), which raises `reading` first and
  // then looks at this: one of the two sees the other.
  state.lifecycle.store(kFree, std::memory_order_seq_cst);
}

ThreadState* first_state() { return registry.load(std::memory_order_acquire); }

void retire_all_but(const ThreadState* survivor) {
  for (ThreadState* state = first_state(); state != nullptr; state = state->next) {
    if (state == survivor) continue;
    state->freed_at = thread_ends.load(std::memory_order_relaxed);
    state->lifecycle.store(kFree, std::memory_order_relaxed);
  }
}

}  // namespace geiger::capture
