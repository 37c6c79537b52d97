#include "runtime/capture/events.h"

#include "runtime/capture/thread_state.h"

namespace geiger::capture {

constinit std::atomic<const Listener*> listener{nullptr};

void tell_sampled(ThreadState& state, trace::Ref sample, const trace::SampleRecord& record) {
  const Listener* told = listener.load(std::memory_order_acquire);
  if (told == nullptr || state.is_telling) return;
  state.is_telling = true;
  told->sampled(told->context, sample, record);
  state.is_telling = false;
}

void tell_freed(ThreadState* state, trace::Ref sample, const trace::FreeRecord& record) {
  const Listener* told = listener.load(std::memory_order_acquire);
  if (told == nullptr || state == nullptr || state->is_telling) return;
  state->is_telling = true;
  told->freed(told->context, sample, record);
  state->is_telling = false;
}

}  // namespace geiger::capture
