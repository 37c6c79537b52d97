/* Blocks that a function frees, and some that stay: their lifetimes, in pprof. */
#include <geiger/geiger.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBlocks = 4000, kSize = 1000 };
static void* volatile blocks[kBlocks];

static int add(void* context, const geiger_sample* sample) {
  double* sums = context;
  sums[sample->is_freed != 0] += sample->weighted_bytes;
  return 0;
}

__attribute__((noinline)) static void make(int i) { blocks[i] = malloc(kSize); }
__attribute__((noinline)) static void drop(int i) {
  free(blocks[i]);
  blocks[i] = NULL; /* After it, or the call would be a jump. */
}

int main(int count, char** arguments) {
  geiger_token token;
  geiger_profile profile;
  double sums[2] = {0, 0};
  if (count != 2 || geiger_set_sampling_interval(8192) != GEIGER_OK ||
      geiger_start_recording() != GEIGER_OK || geiger_record_free_stacks(1) != GEIGER_OK ||
      geiger_start_profile(GEIGER_LIFETIMES, 0, &token) != GEIGER_OK) {
    return 1;
  }
  for (int i = 0; i < kBlocks; ++i) make(i);
  for (int i = 0; i < kBlocks / 2; ++i) drop(i);
  if (geiger_stop_profile(token, &profile) != GEIGER_OK) return 2;
  if (geiger_visit_samples(profile, add, sums) != GEIGER_OK) return 3;
  if (geiger_write_pprof_file(profile, 0, arguments[1]) != GEIGER_OK) return 4;
  printf("alive %.0f freed %.0f\n", sums[0], sums[1]);
  geiger_free_profile(profile);
  return 0;
}
