// A preloaded shim as debuggers of memory are: its malloc calls the C library's calloc and fills the
// block, its realloc calls its own malloc.
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void* malloc(size_t size) {
  void* block = calloc(1, size);
  if (block != NULL) memset(block, 0xa5, size);
  return block;
}

void* realloc(void* old, size_t size) {
  void* block = malloc(size);
  const size_t before = malloc_usable_size(old);
  if (block == NULL) return NULL;
  if (old != NULL) memcpy(block, old, before < size ? before : size);
  free(old);
  return block;
}
