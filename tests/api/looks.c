/* A program that looks at itself: prints the bytes that it allocated while the API took profiles,
   and what one of its peak says. Callbacks allocate too: kPerCallback bytes each. */
#include <geiger/geiger.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBlocks = 20000, kSize = 1000, kPerCallback = 40 };
static void* volatile blocks[kBlocks];
static unsigned long calls = 0;

static int visit(void* context, const geiger_sample* sample) {
  (void)context;
  (void)sample;
  void* volatile block = malloc(kPerCallback);
  free(block);
  ++calls;
  return 0;
}

static int discard(void* context, const void* data, size_t size) {
  (void)context;
  (void)data;
  (void)size;
  return 0;
}

static void look(geiger_profile_kind kind) {
  geiger_profile profile;
  if (geiger_take_snapshot(kind, &profile) != GEIGER_OK) exit(2);
  if (geiger_visit_samples(profile, visit, NULL) != GEIGER_OK) exit(3);
  if (geiger_write_pprof(profile, 0, discard, NULL) != GEIGER_OK) exit(4);
  if (kind == GEIGER_PEAK) {
    geiger_estimate total;
    if (geiger_estimate_total(profile, GEIGER_BYTES, 0, NULL, NULL, 0.95, &total) != GEIGER_OK) exit(5);
    printf("peak %.0f in %.0f .. %.0f\n", total.value, total.lowest, total.highest);
  }
  if (geiger_free_profile(profile) != GEIGER_OK) exit(6);
}

int main(void) {
  geiger_token token;
  geiger_profile window;
  uint64_t before = 0, after = 0, missing = 0;
  static char buffer[BUFSIZ];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer); /* Or printf would allocate one. */
  if (geiger_start_recording() != GEIGER_OK) return 1;
  for (int i = 0; i < kBlocks; ++i) blocks[i] = malloc(kSize);
  geiger_write_openmetrics(0.95, discard, NULL); /* Allocates a byte, to see whether it counts. */
  geiger_get_process_allocated_bytes(&before, &missing);
  calls = 0;
  if (geiger_start_profile(GEIGER_ALLOCATIONS, 0, &token) != GEIGER_OK) return 7;
  for (int i = 0; i < 3; ++i) {
    for (int kind = GEIGER_LIVE; kind <= GEIGER_RESIDENCY; ++kind) look((geiger_profile_kind)kind);
    geiger_write_openmetrics(0.95, discard, NULL);
  }
  if (geiger_stop_profile(token, &window) != GEIGER_OK) return 8;
  geiger_visit_samples(window, visit, NULL);
  geiger_get_process_allocated_bytes(&after, &missing);
  printf("calls %lu allocated %lu\n", calls, (unsigned long)(after - before));
  return 0;
}
