// A program whose objects live for known parts of its run:
//
//   load_table()   allocates at the start and keeps it: alive at the end, but no leak
//   use_scratch()  frees at once
//   cache_entry()  keeps a bounded number, the oldest goes: lives for kCached rounds
//   hand_over()    is freed by another thread, one round later
//   lose()         is never freed: the leak
//
//   lifetimes [ROUNDS [tidy]]    rounds begin 200 us apart, and say by how much they were late at
//                                most; tidy: frees what was lost and the table before it exits,
//                                at once
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>

#include "scenario.h"

namespace {

constexpr int kCached = 200;
constexpr std::size_t kBytes = 1000;
constexpr long kRoundNanoseconds = 200'000;

void* ring[kCached];
std::deque<void*> lost;

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
void* handed = nullptr;
bool is_over = false;

void* free_what_is_handed_over(void*) {
  pthread_mutex_lock(&lock);
  while (true) {
    while (handed == nullptr && !is_over) pthread_cond_wait(&changed, &lock);
    if (handed == nullptr) break;
    free(handed);
    handed = nullptr;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
  return nullptr;
}

timespec after(timespec start, long nanoseconds) {
  const long sum = start.tv_nsec + nanoseconds;
  return {start.tv_sec + sum / 1'000'000'000, sum % 1'000'000'000};
}

/// Sleeps until then. Microseconds that it was late.
long wait_until(const timespec& due) {
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, nullptr);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (now.tv_sec - due.tv_sec) * 1'000'000 + (now.tv_nsec - due.tv_nsec) / 1000;
}

}  // namespace

extern "C" {

__attribute__((noinline)) void* load_table() {
  void** table = static_cast<void**>(malloc(4000 * sizeof(void*)));
  for (int i = 0; i < 4000; ++i) table[i] = opaque(malloc(kBytes));
  return table;
}

__attribute__((noinline)) void use_scratch() {
  void* scratch = opaque(malloc(kBytes));
  free(scratch);
}

__attribute__((noinline)) void cache_entry(int round) {
  free(ring[round % kCached]);
  ring[round % kCached] = opaque(malloc(kBytes));
}

__attribute__((noinline)) void hand_over() {
  void* object = opaque(malloc(kBytes));
  pthread_mutex_lock(&lock);
  while (handed != nullptr) pthread_cond_wait(&changed, &lock);
  handed = object;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) void lose() { lost.push_back(opaque(malloc(kBytes))); }

}  // extern "C"

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 4000;
  pthread_t thread;
  pthread_create(&thread, nullptr, free_what_is_handed_over, nullptr);
  void* table = opaque(load_table());
  timespec start{};
  clock_gettime(CLOCK_MONOTONIC, &start);
  long late = 0;
  for (int round = 0; round < rounds; ++round) {
    use_scratch();
    cache_entry(round);
    hand_over();
    lose();
    late = std::max(late, wait_until(after(start, (round + 1) * kRoundNanoseconds)));
  }
  pthread_mutex_lock(&lock);
  is_over = true;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  pthread_join(thread, nullptr);
  const std::size_t all_lost = lost.size();
  if (argc > 2) {
    for (void* object : lost) free(object);
    lost.clear();
    for (int i = 0; i < 4000; ++i) free(static_cast<void**>(table)[i]);
    free(table);
  }
  std::printf("%d rounds, %zu lost, table %s, at most %ld us late\n", rounds, all_lost,
              table ? "kept" : "gone", late);
  return 0;
}
