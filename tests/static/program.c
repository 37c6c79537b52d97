/* Every entry point of C, on two threads and in a child, and nothing of the C library that allocates
   for itself meanwhile. usage: program COUNT: prints the bytes and the allocations it asked for, both
   of its own process and of its child's. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif
void* memalign(size_t alignment, size_t bytes);
void* reallocarray(void* old, size_t count, size_t bytes);
#ifdef __cplusplus
}
#endif

struct asked {
  unsigned long bytes, count;
};

static void* touched(struct asked* asked, void* made, size_t bytes) {
  if (made == NULL) abort();
  memset(made, 1, bytes);
  asked->bytes += bytes;
  ++asked->count;
  return made;
}

__attribute__((noinline)) static void ask_once(struct asked* asked, size_t bytes) {
  void* made = NULL;
  free(touched(asked, malloc(bytes), bytes));
  free(touched(asked, calloc(2, bytes), 2 * bytes));
  free(touched(asked, memalign(64, bytes), bytes));
  free(touched(asked, aligned_alloc(64, 64 * bytes), 64 * bytes));
  if (posix_memalign(&made, 256, bytes) != 0) abort();
  made = touched(asked, made, bytes);
  made = touched(asked, realloc(made, bytes + 100), bytes + 100);
  free(touched(asked, reallocarray(made, 3, bytes), 3 * bytes));
#ifdef __cplusplus
  char* array = new char[bytes];
  touched(asked, array, bytes);
  delete[] array;
#endif
}

/* So many frames, each on the stack. */
__attribute__((noinline)) static void ask_below(struct asked* asked, int depth, size_t bytes) {
  if (depth == 0) {
    ask_once(asked, bytes);
  } else {
    ask_below(asked, depth - 1, bytes);
  }
  __asm__ volatile("" ::: "memory");
}

static unsigned long rounds;

static void* work(void* asked) {
  for (unsigned long i = 0; i < rounds; ++i) {
    ask_below((struct asked*)asked, 10, 20 + i % 50);
  }
  return NULL;
}

static void say(const char* who, struct asked asked) {
  char line[100];
  const int length = snprintf(line, sizeof line, "%s %lu %lu\n", who, asked.bytes, asked.count);
  if (write(1, line, (size_t)length) != length) abort();
}

int main(int count, char** arguments) {
  struct asked main_asked = {0, 0}, thread_asked = {0, 0};
  if (count != 2) return 2;
  rounds = strtoul(arguments[1], NULL, 10);
  /* The recording begins with the first allocation; what another thread allocates meanwhile is not in it. */
  free(malloc(1));
  pthread_t thread;
  pthread_create(&thread, NULL, work, &thread_asked);
  work(&main_asked);
  pthread_join(thread, NULL);
  const pid_t child = fork();
  if (child == 0) {
    struct asked child_asked = {0, 0};
    work(&child_asked);
    say("child", child_asked);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  main_asked.bytes += thread_asked.bytes;
  main_asked.count += thread_asked.count;
  say("parent", main_asked);
  return status;
}
