/* Built for another C library or another word size: the preload library of this
   machine does not fit it and must not harm it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  unsigned long sum = 0;
  for (int i = 1; i < 20000; ++i) {
    char* block = malloc((size_t)(i % 500 + 1));
    memset(block, i, (size_t)(i % 500 + 1));
    sum += (unsigned char)block[i % 500];
    free(block);
  }
  printf("sum %lu, pointers of %zu bytes\n", sum, sizeof(void*));
  return 6;
}
