/* Threads, cancellation, a child and callbacks: for C libraries other than the one that the
   runtime was built with. Prints how many bytes it asked malloc for. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic unsigned long asked;

__attribute__((noinline)) static char* make(size_t bytes) {
  asked += bytes;
  char* made = malloc(bytes);
  memset(made, 1, bytes);
  return made;
}

/* By functions that call malloc or each other in some C libraries. */
static void make_otherwise(size_t bytes) {
  free(make(bytes)); /* calloc must clear what is in it. */
  char* made[4] = {calloc(2, bytes / 2), memalign(64, bytes), valloc(bytes)};
  if (posix_memalign((void**)&made[3], 64, bytes) != 0) abort();
  for (size_t i = 0; i < bytes; ++i) {
    if (made[0][i] != 0) abort();
  }
  for (int i = 0; i < 4; ++i) {
    asked += bytes;
    free(made[i]);
  }
}

static void* work(void* how) {
  for (int i = 0; i < 5000; ++i) free(make((size_t)(100 + i % 50)));
  if (how != NULL) pthread_exit(NULL);
  return NULL;
}

static int is_waiting;

static void* wait_for_ever(void* unused) {
  free(make(3000));
  __atomic_store_n(&is_waiting, 1, __ATOMIC_RELEASE);
  for (;;) pause();
  return unused;
}

static int compare(const void* a, const void* b) {
  free(make(64));
  return *(const int*)a - *(const int*)b;
}

int main(void) {
  static char* kept[1000];
  for (int i = 0; i < 1000; ++i) kept[i] = make(1000);
  for (size_t bytes = 1000; bytes < 300000; bytes *= 2) make_otherwise(bytes);
  pthread_t threads[4], waiting;
  for (long i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, (void*)(i % 2));
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  pthread_create(&waiting, NULL, wait_for_ever, NULL);
  while (!__atomic_load_n(&is_waiting, __ATOMIC_ACQUIRE)) usleep(1000);
  pthread_cancel(waiting);
  pthread_join(waiting, NULL);
  int numbers[500];
  for (int i = 0; i < 500; ++i) numbers[i] = i * 7919 % 501;
  qsort(numbers, 500, sizeof numbers[0], compare);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    work(NULL);
    _exit(4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("first %d, child %d, kept %d\n", numbers[0], WEXITSTATUS(status), kept[3][5]);
  fprintf(stderr, "%lu\n", asked);
  return 3;
}
