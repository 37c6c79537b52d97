/* A handler at 1 kHz that calls whatever may be called in one, and some that say no,
 * while the program uses the rest. */
#include <geiger/geiger.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static geiger_heap heap;
static geiger_label label = GEIGER_LABEL("in a handler");
static volatile long handled, refused, fallen;
static uint64_t last;

static void handler(int number) {
  (void)number;
  geiger_scope scope;
  geiger_token token;
  uint64_t interval;
  geiger_enter_label(&label, &scope);
  geiger_report_allocation(heap, &scope, 50);
  geiger_report_free(heap, &scope);
  geiger_get_interval_in_force(&interval);
  /* Refused in the middle of an allocation that is decided; else it never falls. */
  uint64_t bytes;
  geiger_status counted = geiger_get_thread_allocated_bytes(&bytes);
  if (counted == GEIGER_OK && bytes < last) ++fallen;
  if (counted != GEIGER_OK && counted != GEIGER_BUSY) ++fallen;
  if (counted == GEIGER_OK) last = bytes;
  /* Takes the lock, if the thread does not hold it; it is not to be called here, but must
     not hang either where it comes in the middle of another such call. */
  if (geiger_stop_profile((geiger_token){0}, NULL) == GEIGER_BUSY) ++refused;
  if (geiger_leave_label(&scope) == GEIGER_OK) ++handled;
  (void)token;
}

int main(void) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
  struct itimerspec every = {{0, 1000000}, {0, 1000000}};
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  geiger_define_heap("signals", &heap);
  geiger_report_allocation(heap, &timer, 1);
  sigaction(SIGRTMIN, &action, NULL);
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &every, NULL);
  long rounds = 0;
  while (handled < 500 && rounds < 1000000) {
    geiger_token token;
    geiger_profile profile;
    geiger_scope scope;
    geiger_start_profile(GEIGER_LIFETIMES, 1 + (uint64_t)(rounds % 7) * 100, &token);
    geiger_enter_label_text("in the program", &scope);
    uint64_t from, to;
    if (geiger_get_thread_allocated_bytes(&from) != GEIGER_OK) return 5;
    for (int i = 0; i < 100; ++i) {
      void* volatile block = malloc(100);
      geiger_report_allocation(heap, block, 100);
      geiger_report_free(heap, block);
      free(block);
    }
    if (geiger_get_thread_allocated_bytes(&to) != GEIGER_OK || to - from != 10000) return 6;
    if (geiger_leave_label(&scope) != GEIGER_OK) return 2;
    if (geiger_stop_profile(token, &profile) != GEIGER_OK) return 3;
    geiger_free_profile(profile);
    ++rounds;
  }
  every.it_value.tv_nsec = every.it_interval.tv_nsec = 0;
  timer_settime(timer, 0, &every, NULL);
  geiger_heap_totals totals;
  geiger_get_heap_totals(heap, &totals);
  if (fallen != 0) return 7;
  printf("handled %d z %.2f\n", handled >= 500, totals.z);
  return totals.z > -5 && totals.z < 5 ? 0 : 4;
}
