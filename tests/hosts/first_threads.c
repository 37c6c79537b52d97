/* usage: first_threads COUNT
   A program whose first allocations are those of threads that run at once, COUNT each, of a size that
   nothing else has. Prints how many, of how many bytes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8, BYTES = 1009 };

static _Atomic int waiting = THREADS;
static int count;

static void* work(void* unused) {
  --waiting;
  while (waiting != 0) {
  }
  for (int i = 0; i < count; ++i) free(malloc(BYTES));
  return unused;
}

int main(int argc, char** argv) {
  pthread_t threads[THREADS];
  if (argc != 2) return 2;
  count = atoi(argv[1]);
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  printf("%d of %d bytes\n", THREADS * count, BYTES);
  return 0;
}
