// Wakes a sleeping process and puts it back to sleep: for a trace that a controller requested, or
// for a tool that listens to its events.
//
// For tools it records in memory, in segments of a few MiB that open with the live samples; the
// records are never read. It ends when no tool listens, or when a controller requests a trace.
#include <errno.h>

#include "base/attributes.h"
#include "runtime/capture/control/confinement.h"
#include "runtime/capture/control/dormancy.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/sample/events.h"

namespace geiger::capture {
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
  set_own_interval(image.settings.interval);
  image.sleeper.is_for_tools.store(true, std::memory_order_relaxed);
  return end_waking(start_image(false));
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
  image.phase.store(Phase::kDormant, std::memory_order_release);
  image.sleeper.is_ending.store(0, std::memory_order_release);
  if (was_asked) answer_request(trace::Presence::kDormant, 0);
}

}  // namespace geiger::capture
