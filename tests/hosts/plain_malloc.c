/* An allocator that has what every allocator must, and nothing else: no malloc_usable_size,
 * and every block begins where a page begins, behind one that cannot be read. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

enum { kPage = 4096 };

/* The first page holds the size and cannot be read but here. */
static size_t size_of(char* block) {
  char* const page = block - kPage;
  mprotect(page, kPage, PROT_READ);
  size_t size = 0;
  memcpy(&size, page, sizeof size);
  mprotect(page, kPage, PROT_NONE);
  return size;
}

static size_t mapped_for(size_t size) { return (size + 2 * kPage - 1) / kPage * kPage; }

static void* take(size_t size) {
  if (size > (size_t)1 << 40) {
    errno = ENOMEM;
    return NULL;
  }
  char* page = mmap(NULL, mapped_for(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                    -1, 0);
  if (page == MAP_FAILED) return NULL;
  memcpy(page, &size, sizeof size);
  mprotect(page, kPage, PROT_NONE);
  return page + kPage;
}

static void give_back(void* block) {
  if (block != NULL) munmap((char*)block - kPage, mapped_for(size_of(block)));
}

void* malloc(size_t size) { return take(size); }
void free(void* block) { give_back(block); }

void* calloc(size_t count, size_t size) {
  size_t bytes = 0;
  if (!__builtin_mul_overflow(count, size, &bytes)) return take(bytes);
  errno = ENOMEM;
  return NULL;
}

void* realloc(void* old, size_t size) {
  void* fresh = take(size);
  if (fresh == NULL || old == NULL) return fresh;
  const size_t before = size_of(old);
  memcpy(fresh, old, before < size ? before : size);
  give_back(old);
  return fresh;
}

static int take_aligned(void** out, size_t alignment, size_t size) {
  if (alignment > kPage || alignment % sizeof(void*) != 0 || alignment == 0) return EINVAL;
  void* block = take(size);
  if (block == NULL) return ENOMEM;
  *out = block;
  return 0;
}

/* Its own calls do not go through the symbol table, where others may count them. */
int posix_memalign(void** out, size_t alignment, size_t size) {
  return take_aligned(out, alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  void* block = NULL;
  const size_t least = alignment < sizeof(void*) ? sizeof(void*) : alignment;
  return take_aligned(&block, least, size) == 0 ? block : NULL;
}
void* memalign(size_t alignment, size_t size) __attribute__((alias("aligned_alloc")));
void* valloc(size_t size) { return take(size); }
void* pvalloc(size_t size) { return take(mapped_for(size) - kPage); }
