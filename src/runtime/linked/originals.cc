#include "runtime/linked/originals.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <cstddef>

// Both C libraries define these; a reference takes them out of the archive.
#define GEIGER_WRAPPED(X) \
  X(malloc)               \
  X(free)                 \
  X(realloc)              \
  X(aligned_alloc)        \
  X(malloc_usable_size)   \
  X(pthread_create)       \
  X(thrd_create)          \
  X(prctl)                \
  X(syscall)              \
  X(clone)                \
  X(sigaction)            \
  X(signal)
#define GEIGER_WRAPPED_LAYERS(X) \
  X(calloc)                      \
  X(memalign)                    \
  X(posix_memalign)              \
  X(valloc)

// Called by us alone.
#define GEIGER_CALLED(X)   \
  X(_pthread_cleanup_push) \
  X(_pthread_cleanup_pop)  \
  X(pthread_atfork)        \
  X(__libc_start_main)

#define GEIGER_DECLARE_WRAPPED(name) void geiger_original_##name() __asm__("__real_" #name);
#define GEIGER_DECLARE_CALLED(name) void geiger_original_##name() __asm__(#name);
extern "C" {
GEIGER_WRAPPED(GEIGER_DECLARE_WRAPPED)
GEIGER_WRAPPED_LAYERS(GEIGER_DECLARE_WRAPPED)
GEIGER_CALLED(GEIGER_DECLARE_CALLED)
/// glibc's, in the same object as its malloc.
[[gnu::weak]] void geiger_original_pvalloc() __asm__("__real_pvalloc");

/// Whether nothing was written to a block since the kernel gave its memory. A part of musl's calloc
/// from 1.2.1 on, and of no other.
// NOLINTNEXTLINE(bugprone-reserved-identifier, readability-identifier-naming): musl's name.
[[gnu::weak]] int __malloc_allzerop(void* block);
}

namespace geiger::linked {
namespace {

// That musl's calloc calls malloc, memalign and posix_memalign call aligned_alloc, and valloc calls
// memalign, all by name: the linker leads these calls to our entry points, and each allocation
// would be counted twice. So with that musl their originals are these, over what is called once.
namespace layers {

void* malloc(std::size_t size) {
  return reinterpret_cast<void* (*)(std::size_t)>(geiger_original_malloc)(size);
}

void* memalign(std::size_t alignment, std::size_t size) {
  return reinterpret_cast<void* (*)(std::size_t, std::size_t)>(geiger_original_aligned_alloc)(
      alignment, size);
}

void* calloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* const block = malloc(bytes);
  return block == nullptr || __malloc_allzerop(block) != 0 ? block : memset(block, 0, bytes);
}

int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  if (alignment < sizeof(void*)) return EINVAL;
  void* const block = memalign(alignment, size);
  if (block == nullptr) return errno;
  *out = block;
  return 0;
}

void* valloc(std::size_t size) {
  return memalign(static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), size);
}

}  // namespace layers

struct Original {
  const char* name;
  void* address;
  void* over_malloc;  ///< Instead, where the C library's own calls an entry point; or null.
};

#define GEIGER_ROW(name) {#name, reinterpret_cast<void*>(geiger_original_##name), nullptr},
#define GEIGER_LAYER(name) \
  {#name, reinterpret_cast<void*>(geiger_original_##name), reinterpret_cast<void*>(layers::name)},
const Original kOriginals[] = {GEIGER_WRAPPED(GEIGER_ROW) GEIGER_WRAPPED_LAYERS(GEIGER_LAYER)
                                   GEIGER_CALLED(GEIGER_ROW) GEIGER_ROW(pvalloc)};
#undef GEIGER_LAYER
#undef GEIGER_ROW

}  // namespace

void* find_original(const char* name) {
  const bool has_layers = &__malloc_allzerop != nullptr;
  for (const Original& original : kOriginals) {
    if (strcmp(original.name, name) != 0) continue;
    return has_layers && original.over_malloc != nullptr ? original.over_malloc : original.address;
  }
  return nullptr;
}

}  // namespace geiger::linked
