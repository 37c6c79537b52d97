#include "api/gate.h"

#include <pthread.h>

#include <atomic>

#include "api/connection.h"
#include "api/heaps/custom_heaps.h"
#include "api/listeners.h"
#include "api/session.h"

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

}  // namespace geiger::api
