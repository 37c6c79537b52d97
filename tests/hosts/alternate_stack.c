/* Allocates in a signal handler on an alternate stack of 8 KiB, below which is an unreadable page.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { kStackBytes = 8192, kPage = 4096 };

static int handled;

__attribute__((noinline)) static void handle(int signal) {
  (void)signal;
  char* const block = malloc(100);
  handled += block != NULL;
  free(block);
}

int main(void) {
  char* const map = mmap(NULL, kPage + kStackBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(map + kPage, kStackBytes, PROT_READ | PROT_WRITE);
  const stack_t stack = {.ss_sp = map + kPage, .ss_size = kStackBytes};
  const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
  if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0) return 1;
  for (int i = 0; i < 200; ++i) raise(SIGUSR1);
  printf("%d\n", handled);
  return 0;
}
