#include "runtime/api/gate.h"

#include <pthread.h>

#include <atomic>

#include "runtime/api/connection.h"
#include "runtime/api/custom_heaps.h"
#include "runtime/api/listeners.h"
#include "runtime/api/session.h"

namespace geiger::api {
namespace {

/// Its second lock by one thread is an error, not a deadlock.
constinit pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

/// Whether the fork handler below took it: not if a signal handler forked under it.
constinit bool is_held_for_fork = false;

void prepare_fork() { is_held_for_fork = pthread_mutex_lock(&mutex) == 0; }

void go_on_in_parent() {
  if (is_held_for_fork) pthread_mutex_unlock(&mutex);
}

void go_on_in_child() {
  // Not unlocked: its owner was a thread of another number.
  mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  restart_heaps_in_child();
  restart_listeners_in_child();
  restart_session_in_child();
}

/// At the first use, so that a program that never uses the API has nothing of it.
void watch_forks() {
  static const int watched = pthread_atfork(prepare_fork, go_on_in_parent, go_on_in_child);
  (void)watched;
}

}  // namespace

Gate::Gate() : status_(GEIGER_IN_LISTENER) {
  if (tls.listener != nullptr) return;
  const int error = pthread_mutex_lock(&mutex);
  status_ = error == 0 ? GEIGER_OK : GEIGER_BUSY;
  if (error == 0) watch_forks();
}

Gate::~Gate() {
  if (status_ == GEIGER_OK) pthread_mutex_unlock(&mutex);
}

}  // namespace geiger::api
