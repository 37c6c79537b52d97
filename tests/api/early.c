/* The interface before main, in threads that end, and after main. */
#include <geiger/geiger.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static geiger_token early;
static geiger_status started, entered;
static geiger_scope scope;
static geiger_label label = GEIGER_LABEL("before main");
static pthread_key_t key;

__attribute__((constructor)) static void before_main(void) {
  started = geiger_start_profile(GEIGER_ALLOCATIONS, 1, &early);
  entered = geiger_enter_label(&label, &scope);
}

__attribute__((destructor)) static void after_main(void) {
  geiger_profile profile;
  geiger_status started_again = geiger_start_recording();
  geiger_status taken = geiger_take_snapshot(GEIGER_LIVE, &profile);
  printf("after %d %d\n", (int)started_again, (int)taken);
}

static geiger_heap heap;

/* Runs when libgeiger's own thread-local state may be gone already. */
static void at_thread_end(void* block) {
  geiger_scope late;
  free(block);
  geiger_status status = geiger_report_allocation(heap, &late, 100);
  status |= geiger_enter_label(&label, &late);
  status |= geiger_leave_label(&late);
  if (status != GEIGER_OK) printf("late %d\n", (int)status);
}

static void* thread(void* number) {
  geiger_scope unfinished;
  pthread_setspecific(key, malloc(100));
  geiger_enter_label(&label, &unfinished);
  for (int i = 0; i < 100; ++i) geiger_report_allocation(heap, (char*)number + i, 10);
  return NULL;
}

static int count_labelled(void* context, const geiger_sample* sample) {
  *(int*)context += sample->label_count == 1;
  return 0;
}

int main(void) {
  pthread_t threads[50];
  geiger_profile profile;
  geiger_heap_totals totals;
  int labelled = 0;
  void* volatile block = malloc(1000);
  geiger_status left = geiger_leave_label(&scope);
  printf("started %d entered %d left %d\n", (int)started, (int)entered, (int)left);
  pthread_key_create(&key, at_thread_end);
  geiger_define_heap("early heap", &heap);
  for (int i = 0; i < 50; ++i) {
    pthread_create(&threads[i], NULL, thread, (char*)0x10000 + i * 256);
    if (i % 2 == 0) pthread_join(threads[i], NULL);
  }
  for (int i = 1; i < 50; i += 2) pthread_join(threads[i], NULL);
  printf("stopped %d\n", (int)geiger_stop_profile(early, &profile));
  geiger_visit_samples(profile, count_labelled, &labelled);
  geiger_get_heap_totals(heap, &totals);
  printf("labelled %d heap %llu\n", labelled > 0, (unsigned long long)totals.bytes);
  free(block);
  return 0;
}
