/* A program whose recording goes on from trace to trace, and that opens a plugin in the middle
 * which reads it from within: what lived before must be found, and nothing that was read may
 * go away. */
#include <dlfcn.h>
#include <geiger/geiger.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBlocks = 1000, kBytes = 1000, kRounds = 100000 };

struct sum {
  unsigned long blocks, frames;
};

static int add(void* context, const geiger_sample* sample) {
  struct sum* sum = context;
  sum->blocks += sample->requested == kBytes;
  for (size_t i = 0; i < sample->frame_count; ++i) sum->frames += sample->frames[i] != 0;
  return 0;
}

static void churn(void) {
  for (int i = 0; i < kRounds; ++i) {
    char* volatile block = malloc(100);
    block[0] = 1;
    free(block);
  }
}

static void* library;
static void* function(const char* name) { return dlsym(library, name); }
#define CALL(name) ((__typeof__(&geiger_##name))(size_t)function("geiger_" #name))

int main(int count, char** arguments) {
  static void* kept[kBlocks];
  struct sum first = {0, 0}, again = {0, 0};
  geiger_profile live, stopped;
  geiger_token token;
  if (count != 2) return 2;
  for (int i = 0; i < kBlocks; ++i) kept[i] = malloc(kBytes);
  churn();
  library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return printf("%s\n", dlerror()), 1;
  printf("start %d\n", CALL(start_profile)(GEIGER_ALLOCATIONS, 0, &token));
  printf("live %d\n", CALL(take_snapshot)(GEIGER_LIVE, &live));
  CALL(visit_samples)(live, add, &first);
  churn();
  churn();
  CALL(visit_samples)(live, add, &again);
  printf("stop %d\n", CALL(stop_profile)(token, &stopped));
  for (int i = 0; i < kBlocks; ++i) free(kept[i]);
  printf("blocks %lu again %lu same %d\n", first.blocks, again.blocks,
         first.frames == again.frames);
  return 0;
}
