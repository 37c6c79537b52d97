/* Allocates in functions that never return, which are called by their name, by a pointer in data,
   and by one that an instruction makes. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

static sem_t worker_is_done;

__attribute__((noinline)) static void allocate(void) {
  for (int i = 0; i < 200; ++i) free(malloc(100));
}

static void* work(void* argument) {
  (void)argument;
  allocate();
  sem_post(&worker_is_done);
  for (;;) pause();
}

__attribute__((noinline, noreturn)) static void finish(int status) {
  char* const text = malloc(40);
  allocate();
  free(text);
  exit(status);
}

static int called_by_pointer(int arguments) {
  allocate();
  finish(arguments - 1);
}

int (*const volatile pointers[])(int) = {called_by_pointer};

int main(int argc, char** argv) {
  (void)argv;
  pthread_t worker;
  sem_init(&worker_is_done, 0, 0);
  pthread_create(&worker, NULL, work, NULL);
  sem_wait(&worker_is_done);
  exit(pointers[0](argc));
}
