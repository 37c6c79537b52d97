// pthread_create and thrd_create, to see the end of each thread: otherwise the bytes of threads
// that end before their first sample would be missing from the totals, and 2,000 threads of 64 KiB
// each would seem to allocate next to nothing.
//
// No pthread key (a program may use them all) and no C++ thread-exit hook (it
// takes the loader's lock): a trampoline with a cancellation cleanup handler, which
// runs after a return, pthread_exit and cancellation alike.
#include <pthread.h>
#include <threads.h>

#include <atomic>
#include <cstdint>

#include "base/attributes.h"
#include "runtime/capture/capture.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/tables/arena.h"
#include "runtime/interpose/conclude.h"
#include "runtime/interpose/originals.h"

namespace geiger::interpose {
namespace {

/// A new thread's function and argument. One of the two functions is set.
struct Start {
  void* (*posix)(void*);
  thrd_start_t c11;
  void* argument;
  std::atomic<bool> is_used;
  Start* next;
};

/// All start blocks. They are reused, so their number is the largest number of threads being
/// started at once.
constinit std::atomic<Start*> starts{nullptr};

Start* take_start() {
  for (Start* start = starts.load(std::memory_order_acquire); start != nullptr;
       start = start->next) {
    if (!start->is_used.exchange(true, std::memory_order_acquire)) return start;
  }
  auto* fresh = static_cast<Start*>(capture::arena_allocate(sizeof(Start)));
  if (fresh == nullptr) return nullptr;
  fresh->is_used.store(true, std::memory_order_relaxed);
  Start* newest = starts.load(std::memory_order_relaxed);
  do {
    fresh->next = newest;
  } while (!starts.compare_exchange_weak(newest, fresh, std::memory_order_acq_rel));
  return fresh;
}

/// Where a C library allocates nothing before the first thread (musl's), the image would start in
/// one of several, and whatever the others allocate meanwhile would pass unseen.
void expect_thread() {
  resolve();
  capture::start_if_due();
}

void give_back(Start& start) { start.is_used.store(false, std::memory_order_release); }

/// Ends the thread when its function returns, or by pthread_exit or cancellation, which run
/// handlers but no destructors.
class Ending {
 public:
  Ending() {
    originals.cleanup_push(
        &buffer_, [](void*) { capture::end_thread(); }, nullptr);
  }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() { originals.cleanup_pop(&buffer_, 1); }

 private:
  _pthread_cleanup_buffer buffer_;
};

[[gnu::noinline]] void* run_posix(void* block) {
  auto& start = *static_cast<Start*>(block);
  void* (*const function)(void*) = start.posix;
  void* const argument = start.argument;
  give_back(start);
  capture::begin_thread();
  const Ending ending;
  return function(argument);
}

[[gnu::noinline]] int run_c11(void* block) {
  auto& start = *static_cast<Start*>(block);
  const thrd_start_t function = start.c11;
  void* const argument = start.argument;
  give_back(start);
  capture::begin_thread();
  const Ending ending;
  return function(argument);
}

}  // namespace
}  // namespace geiger::interpose

using namespace geiger::interpose;  // NOLINT: the C names below live outside.

GEIGER_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                 void* (*function)(void*), void* argument) {
  expect_thread();
  Start* start = take_start();
  if (start == nullptr) return originals.pthread_create(thread, attributes, function, argument);
  start->posix = function;
  start->argument = argument;
  const int error = originals.pthread_create(thread, attributes, run_posix, start);
  if (error != 0) give_back(*start);
  return error;
}

GEIGER_EXPORT int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  expect_thread();
  Start* start = take_start();
  if (start == nullptr) return originals.thrd_create(thread, function, argument);
  start->c11 = function;
  start->argument = argument;
  const int result = originals.thrd_create(thread, run_c11, start);
  if (result != thrd_success) give_back(*start);
  return result;
}
