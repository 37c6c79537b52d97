#include "api/listeners.h"

#include <sched.h>

#include <atomic>
#include <cstring>
#include <exception>

#include "api/connection.h"
#include "api/profile.h"
#include "api/session.h"
#include "base/raw_syscall.h"

namespace geiger::api {
namespace {

enum State : std::uint32_t { kFree, kTaken, kActive, kFailed, kEnding };

struct Place {
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> calls;  ///< Running, or about to look at `state`.
  std::uint64_t id;
  geiger_on_sample sampled;
  geiger_on_free freed;
  void* context;
};

constinit Place places[GEIGER_MAX_LISTENERS]{};
constinit std::atomic<std::uint32_t> failures{0};
constinit std::atomic<std::uint32_t> present{0};

/// Text of the exception of the last failed listener; written by one thread at a time, at worst
/// read half-written.
constinit std::atomic<char> error_text[sizeof(geiger_recorder::listener_error)]{};

void keep_error(const char* text) {
  for (std::size_t i = 0; i + 1 < std::size(error_text); ++i) {
    error_text[i].store(*text, std::memory_order_relaxed);
    if (*text != '\0') ++text;
  }
}

void fail(Place& place, const char* error) {
  std::uint32_t expected = kActive;
  if (!place.state.compare_exchange_strong(expected, kFailed, std::memory_order_seq_cst)) return;
  keep_error(error);
  failures.fetch_add(1, std::memory_order_relaxed);
}

/// Marks the call and the thread, until the end of the call, even by an exception.
class Call {
 public:
  explicit Call(Place& place) : place_(place) {
    place_.calls.fetch_add(1, std::memory_order_seq_cst);
    tls.listener = &place;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    tls.listener = nullptr;
    place_.calls.fetch_sub(1, std::memory_order_release);  // Pairs with wait_for_calls().
  }
  [[nodiscard]] bool is_wanted() const {
    return place_.state.load(std::memory_order_seq_cst) == kActive;
  }

 private:
  Place& place_;
};

using Function = void (*)(void*, const geiger_sample*);

void call(Place& place, Function Place::*function, const geiger_sample& sample) {
  const Call call(place);
  if (!call.is_wanted() || place.*function == nullptr) return;
  try {
    (place.*function)(place.context, &sample);
  } catch (const std::exception& error) {
    fail(place, error.what());
  } catch (...) {
    if (ends_thread()) throw;
    fail(place, "not a std::exception");
  }
}

std::uint32_t own_tid() { return static_cast<std::uint32_t>(base::raw_syscall(SYS_gettid)); }

void tell(Function Place::*function, const geiger_sample& sample) {
  for (Place& place : places) {
    if (place.state.load(std::memory_order_relaxed) == kActive) call(place, function, sample);
  }
}

/// The capture's previous listener.
constinit const capture::Listener* next_listener = nullptr;

void told_sampled(void*, const capture::TraceView& view, trace::Ref sample,
                  const trace::SampleRecord& record) {
  if (next_listener != nullptr) {
    next_listener->sampled(next_listener->context, view, sample, record);
  }
  if (present.load(std::memory_order_relaxed) == 0) return;
  const MappedTrace trace = mapped_trace(view);
  tell(&Place::sampled, sample_of(trace, as_recorded(trace, sample), own_tid(), 0));
}

void told_freed(void*, const capture::TraceView& view, trace::Ref sample,
                const trace::FreeRecord& record) {
  if (next_listener != nullptr) next_listener->freed(next_listener->context, view, sample, record);
  if (present.load(std::memory_order_relaxed) == 0) return;
  const MappedTrace trace = mapped_trace(view);
  Drawn drawn = as_recorded(trace, sample);
  drawn.is_freed = true;
  drawn.until = record.time;
  drawn.free_stack = record.stack;
  // If another thread allocated it, its id is not available here.
  const bool is_own =
      trace.header_of(sample).thread == trace::RecordHeader::unpack(record.header).thread;
  tell(&Place::freed, sample_of(trace, drawn, is_own ? own_tid() : 0, own_tid()));
}

/// Listeners of the program do not wake a sleeping process.
bool is_wanted(void*) {
  return next_listener != nullptr && next_listener->is_wanted != nullptr &&
         next_listener->is_wanted(next_listener->context);
}

constinit const capture::Listener kListener{told_sampled, told_freed, nullptr, is_wanted};

/// Once, and never undone: a thread may be about to call it.
void connect() {
  static const bool is_connected = [] {
    next_listener = connection()->listener->load(std::memory_order_acquire);
    connection()->listener->store(&kListener, std::memory_order_release);
    return true;
  }();
  (void)is_connected;
}

Place* free_place() {
  for (Place& place : places) {
    std::uint32_t expected = kFree;
    if (place.state.compare_exchange_strong(expected, kTaken, std::memory_order_acq_rel)) {
      return &place;
    }
  }
  return nullptr;
}

geiger_status add(const Place& wanted, geiger_listener& out) {
  capture::Status status{};
  const geiger_status recording = recorder(status);
  if (recording != GEIGER_OK) return recording;
  Place* place = free_place();
  if (place == nullptr) return GEIGER_LIMIT;
  place->sampled = wanted.sampled;
  place->freed = wanted.freed;
  place->context = wanted.context;
  place->id = out.id = ++session().last_id;
  connect();
  present.fetch_add(1, std::memory_order_relaxed);
  place->state.store(kActive, std::memory_order_release);
  session().demand.add_user();
  return GEIGER_OK;
}

Place* place_of(geiger_listener handle) {
  for (Place& place : places) {
    const std::uint32_t state = place.state.load(std::memory_order_acquire);
    const bool is_listening = state == kActive || state == kFailed;
    if (is_listening && place.id == handle.id) return &place;
  }
  return nullptr;
}

/// Takes the listener out of use; its place becomes free when the last call ends.
geiger_status end(geiger_listener handle, Place*& ending) {
  ending = place_of(handle);
  if (ending == nullptr) return status_of_unknown(handle.id);
  ending->state.store(kEnding, std::memory_order_seq_cst);
  present.fetch_sub(1, std::memory_order_relaxed);
  session().demand.remove_user();
  return GEIGER_OK;
}

void wait_for_calls(Place& place) {
  while (place.calls.load(std::memory_order_seq_cst) != 0) sched_yield();
  place.state.store(kFree, std::memory_order_release);
}

}  // namespace

std::uint32_t listener_count() { return present.load(std::memory_order_relaxed); }

void restart_listeners_in_child() {
  for (Place& place : places) {
    // Other threads are gone; this one may have forked in a listener.
    place.calls.store(tls.listener == &place ? 1 : 0, std::memory_order_relaxed);
    std::uint32_t ending = kEnding;
    place.state.compare_exchange_strong(ending, kFree, std::memory_order_relaxed);
  }
}

void describe_listeners(geiger_recorder& out) {
  out.listeners = listener_count();
  out.failed_listeners = failures.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < std::size(error_text); ++i) {
    out.listener_error[i] = error_text[i].load(std::memory_order_relaxed);
  }
}

}  // namespace geiger::api

using namespace geiger::api;  // NOLINT: the C names below live outside.

geiger_status geiger_add_listener(geiger_on_sample sampled, geiger_on_free freed, void* context,
                                  geiger_listener* listener) {
  if (listener == nullptr) return GEIGER_BAD_ARGUMENT;
  *listener = {};
  if (sampled == nullptr && freed == nullptr) return GEIGER_BAD_ARGUMENT;
  return guarded_by_gate([&] {
    const Place wanted{.state = kTaken,
                       .calls = 0,
                       .id = 0,
                       .sampled = sampled,
                       .freed = freed,
                       .context = context};
    return add(wanted, *listener);
  });
}

geiger_status geiger_remove_listener(geiger_listener listener) {
  Place* ending = nullptr;
  const geiger_status status = guarded_by_gate([&] { return end(listener, ending); });
  // Outside of the gate: the listener waited for may itself wait for the thread that holds the
  // gate.
  if (status == GEIGER_OK) wait_for_calls(*ending);
  return status;
}
