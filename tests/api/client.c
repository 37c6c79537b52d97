/* A C11 program that uses every part of the interface once, the same source linked,
 * preloaded and absent. Prints NAME STATUS per call, and what a test compares. */
#include <geiger/geiger.h>
#include <stdio.h>
#include <stdlib.h>

static void say(const char* name, geiger_status status) { printf("%s %d\n", name, (int)status); }

static void on_sample(void* context, const geiger_sample* sample) {
  (void)sample;
  ++*(int*)context;
}

struct sum {
  double bytes;
  int samples, labelled, of_heap;
};

static int add(void* context, const geiger_sample* sample) {
  struct sum* sum = context;
  sum->bytes += sample->heap == 0 ? sample->weighted_bytes : 0;
  sum->samples += 1;
  sum->labelled += sample->label_count == 2;
  sum->of_heap += sample->heap != 0;
  return 0;
}

static int keep_metrics(void* context, const void* data, size_t size) {
  return fwrite(data, 1, size, context) != size;
}

static int is_mine(void* context, const geiger_sample* sample) {
  (void)context;
  return sample->label_count == 2;
}

static uint64_t requested;

static void work(geiger_heap heap) {
  static geiger_label request = GEIGER_LABEL("request");
  static geiger_label tenant = GEIGER_LABEL("tenant=acme");
  geiger_scope outer, inner;
  say("enter", geiger_enter_label(&request, &outer));
  say("enter", geiger_enter_label(&tenant, &inner));
  for (int i = 0; i < 2000; ++i) {
    uint64_t before, after;
    geiger_get_thread_allocated_bytes(&before);
    char* volatile block = malloc(1000);
    geiger_get_thread_allocated_bytes(&after);
    requested += after - before;
    block[0] = 1;
    geiger_report_allocation(heap, block, 1000);
    if (i % 2 == 0) {
      geiger_report_free(heap, block);
      free(block);
    }
  }
  say("leave", geiger_leave_label(&inner));
  say("leave", geiger_leave_label(&outer));
}

int main(int count, char** arguments) {
  int calls = 0;
  struct sum sum = {0, 0, 0, 0};
  uint64_t bytes = 0, process = 0, missing = 0;
  geiger_recorder recorder;
  geiger_heap heap;
  geiger_listener listener;
  geiger_token token;
  geiger_profile profile, live;
  geiger_estimate estimate;
  say("status", geiger_get_status(&recorder));
  printf("interposed %d memory %d paused %d\n", recorder.is_interposed, recorder.is_in_memory,
         recorder.is_paused);
  say("heap", geiger_define_heap("client heap", &heap));
  say("mark", geiger_write_mark("begin"));
  say("listener", geiger_add_listener(on_sample, NULL, &calls, &listener));
  say("start", geiger_start_profile(GEIGER_LIFETIMES, 4096, &token));
  work(heap);
  say("thread", geiger_get_thread_allocated_bytes(&bytes));
  say("process", geiger_get_process_allocated_bytes(&process, &missing));
  printf("exactly %llu process %d missing %llu\n", (unsigned long long)requested,
         process >= bytes, (unsigned long long)missing);
  say("live", geiger_take_snapshot(GEIGER_LIVE, &live));
  say("stop", geiger_stop_profile(token, &profile));
  say("remove", geiger_remove_listener(listener));
  say("visit", geiger_visit_samples(profile, add, &sum));
  say("estimate",
      geiger_estimate_total(profile, GEIGER_BYTES, 0, is_mine, NULL, 0.9999994, &estimate));
  printf("truth 2000000 in %.0f .. %.0f\n", estimate.lowest, estimate.highest);
  printf("samples %d labelled %d heap %d calls %d\n", sum.samples, sum.labelled, sum.of_heap,
         calls);
  if (count > 1) {
    FILE* metrics = count > 2 ? fopen(arguments[2], "w") : NULL;
    if (metrics != NULL) {
      say("metrics", geiger_write_openmetrics(0.9, keep_metrics, metrics));
      fclose(metrics);
    }
    say("pprof", geiger_write_pprof_file(profile, 0, arguments[1]));
    printf("weighted %.0f\n", sum.bytes);
  }
  say("free", geiger_free_profile(profile));
  say("free", geiger_free_profile(live));
  return 0;
}
