/* To be preloaded behind the runtime, below `geiger doctor --machine`: an allocator that gives one of
   ten objects of its load the same block, as if the frees between had been missed. */
#include <stddef.h>

void* __libc_malloc(size_t bytes);
void __libc_free(void* block);

enum { LOAD_BYTES = 1009 };

static _Alignas(16) char shared[1024];

void* malloc(size_t bytes) {
  static unsigned count;
  if (bytes == LOAD_BYTES && __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) % 10 == 0)
    return shared;
  return __libc_malloc(bytes);
}

void free(void* block) {
  if (block != shared) __libc_free(block);
}

size_t malloc_usable_size(void* block) { return block == NULL ? 0 : LOAD_BYTES; }
