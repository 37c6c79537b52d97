// malloc and related functions, as programs call them. malloc and free are in allocator.h.
//
// operator new and delete are not replaced: those of the C++ libraries call malloc and free.
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/check.h"
#include "heap/allocator.h"
#include "heap/census.h"
#include "heap/listener.h"
#include "heap/threads.h"

#define GEIGER_EXPORT extern "C" [[gnu::visibility("default")]]

using namespace geiger::heap;  // NOLINT: the C names below live outside.

namespace {
// Most calls come after this, some before.
[[gnu::constructor]] void at_load() { prepare_process(); }
}  // namespace

GEIGER_EXPORT void* malloc(std::size_t size) { return allocate(size); }

GEIGER_EXPORT void free(void* pointer) { release(pointer); }

GEIGER_EXPORT void* calloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocate_zeroed(bytes);
}

/// realloc(p, 0) frees, as glibc's does.
GEIGER_EXPORT void* realloc(void* pointer, std::size_t size) {
  if (pointer == nullptr) return allocate(size);
  if (size == 0) {
    release(pointer);
    return nullptr;
  }
  return reallocate(pointer, size);
}

GEIGER_EXPORT void* reallocarray(void* pointer, std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(pointer, bytes);
}

/// An alignment that is not a power of 2 is rounded up to one, like in glibc.
GEIGER_EXPORT void* memalign(std::size_t alignment, std::size_t size) {
  if (alignment > SIZE_MAX / 2 + 1) {
    errno = EINVAL;
    return nullptr;
  }
  return allocate_aligned(size, std::bit_ceil(alignment));
}

GEIGER_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return memalign(alignment, size);
}

GEIGER_EXPORT int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int before = errno;
  void* const block = allocate_aligned(size, alignment);
  errno = before;
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}

GEIGER_EXPORT void* valloc(std::size_t size) { return allocate_aligned(size, kSystemPage); }

GEIGER_EXPORT void* pvalloc(std::size_t size) {
  if (size > SIZE_MAX - kSystemPage) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocate_aligned((size + kSystemPage - 1) & ~(kSystemPage - 1), kSystemPage);
}

GEIGER_EXPORT void free_sized(void* pointer, std::size_t) { release(pointer); }

GEIGER_EXPORT void free_aligned_sized(void* pointer, std::size_t, std::size_t) { release(pointer); }

GEIGER_EXPORT std::size_t malloc_usable_size(void* pointer) {
  return pointer != nullptr ? usable_size(pointer) : 0;
}

/// Returns all free memory to the system, ignoring the argument.
GEIGER_EXPORT int malloc_trim(std::size_t) { return trim() ? 1 : 0; }

/// glibc prints its arenas; we print exact counts by block size.
GEIGER_EXPORT void malloc_stats() { write_statistics(); }

/// listener.h, for other libraries, which look it up by name.
GEIGER_EXPORT void geiger_heap_listen_v1(const Listener* listener, std::uint64_t interval,
                                         std::uint64_t seed) {
  listen(listener, interval, seed);
}
GEIGER_EXPORT void geiger_heap_keep_memory_v1(bool keeps) { keep_memory(keeps); }
