#include "api/session.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "api/connection.h"
#include "api/heaps/custom_heaps.h"
#include "api/listeners.h"

namespace geiger::api {

namespace {

/// No thread locks it twice: `tls.is_at_gate` prevents that. The mutex itself could not, because
/// its owner is unknown between taking it and storing the owner. Unlocking it in a child that was
/// forked while it was held is an error without effect.
constinit pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

/// Whether the fork handler below took it: not if a signal handler forked while it was held.
constinit bool is_held_for_fork = false;

void prepare_fork() { is_held_for_fork = !tls.is_at_gate && pthread_mutex_lock(&mutex) == 0; }

void go_on_in_parent() {
  if (is_held_for_fork) pthread_mutex_unlock(&mutex);
}

void go_on_in_child() {
  // Not unlocked: its owner has another thread id.
  mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  tls.is_at_gate = false;
  restart_heaps_in_child();
  restart_listeners_in_child();
  restart_session_in_child();
}

/// At the first use, so that programs that never use the API have no such handlers.
void watch_forks() {
  static const int watched = pthread_atfork(prepare_fork, go_on_in_parent, go_on_in_child);
  (void)watched;
}

}  // namespace

Gate::Gate() {
  if (tls.listener != nullptr) return;
  status_ = GEIGER_BUSY;
  if (tls.is_at_gate) return;
  // Set before the lock is taken and cleared after it is released, so that handlers of this thread
  // see it.
  tls.is_at_gate = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  status_ = pthread_mutex_lock(&mutex) == 0 ? GEIGER_OK : GEIGER_BUSY;
  if (status_ == GEIGER_OK) {
    watch_forks();
  } else {
    tls.is_at_gate = false;
  }
}

Gate::~Gate() {
  if (status_ != GEIGER_OK) return;
  pthread_mutex_unlock(&mutex);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  tls.is_at_gate = false;
}

std::uint64_t largest_interval_in_use() {
  return std::max(connection()->largest_interval_in_use(), largest_interval_of_heaps());
}

/// Only a recording in memory may be paused: the user who started the program asked for a file.
void Demand::hold(bool is_held) const {
  const capture::Interface* capture = connection();
  if (capture != nullptr && is_in_memory_) capture->hold(is_held);
}

/// Recording begins: earlier intervals that are no longer in use have not drawn anything.
void Demand::begin(const capture::Status& status) {
  if (!is_in_memory_ || begun_in_ == status.first_image) return;
  begun_in_ = status.first_image;
  connection()->forget_intervals();
  largest_at_start_ = largest_interval_in_use();
}

void Demand::add_user() {
  capture::Status status{};
  is_in_memory_ = recorder(status) == GEIGER_OK && status.is_in_memory;
  if (users_++ != 0) return;
  begin(status);
  hold(false);
}

void Demand::remove_user() {
  if (--users_ == 0) hold(true);
}

/// Reads the interval in force; one that was not set here becomes the program's own.
std::uint64_t Demand::observe() {
  capture::Status status{};
  if (recorder(status) != GEIGER_OK) return 0;
  if (status.interval != set_) own_ = status.interval;
  return status.interval;
}

geiger_status Demand::apply() {
  const std::uint64_t current = observe();
  if (current == 0) return GEIGER_NOT_RECORDING;
  const std::uint64_t wanted = wanted_.empty() ? own_ : std::min(own_, *wanted_.begin());
  if (wanted == current) return GEIGER_OK;
  set_ = wanted;
  return connection()->set_interval(wanted) ? GEIGER_OK : GEIGER_NOT_RECORDING;
}

geiger_status Demand::want(std::uint64_t interval) {
  observe();
  wanted_.insert(interval);
  const geiger_status status = apply();
  if (status != GEIGER_OK) wanted_.erase(wanted_.find(interval));
  return status;
}

void Demand::want_no_more(std::uint64_t interval) {
  const auto at = wanted_.find(interval);
  if (at == wanted_.end()) return;
  observe();
  wanted_.erase(at);
  apply();  // If recording has ended, nothing needs to change.
}

geiger_status Demand::set_own(std::uint64_t interval) {
  const std::uint64_t current = observe();
  if (current == 0) return GEIGER_NOT_RECORDING;
  own_ = interval;
  set_ = current;  // Else apply() would take the interval in force for the program's own.
  connection()->set_own_interval(interval);
  return apply();
}

std::uint64_t Demand::own() {
  observe();
  return own_;
}

void Demand::restart(std::uint32_t users) {
  wanted_.clear();
  set_ = 0;
  users_ = users;
  begun_in_ = 0;
  largest_at_start_ = 0;
  hold(users == 0);
}

namespace {

constinit Session* known = nullptr;

}  // namespace

Session& session() {
  if (known == nullptr) known = new Session;
  return *known;
}

geiger_status status_of_unknown(std::uint64_t id) {
  const bool was_given = known != nullptr && id != 0 && id <= known->last_id;
  return was_given ? GEIGER_ALREADY_STOPPED : GEIGER_BAD_HANDLE;
}

void restart_session_in_child() {
  if (known == nullptr) return;
  for (auto& [id, token] : known->tokens) token.is_parents = true;
  known->demand.restart(known->recordings + listener_count());
}

}  // namespace geiger::api
