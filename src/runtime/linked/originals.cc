#include "runtime/linked/originals.h"

#include <string.h>

// Both C libraries define these; a reference takes them out of the archive.
#define GEIGER_WRAPPED(X) \
  X(malloc)               \
  X(free)                 \
  X(calloc)               \
  X(realloc)              \
  X(memalign)             \
  X(posix_memalign)       \
  X(valloc)               \
  X(aligned_alloc)        \
  X(malloc_usable_size)   \
  X(pthread_create)       \
  X(thrd_create)          \
  X(prctl)                \
  X(syscall)              \
  X(clone)                \
  X(sigaction)            \
  X(signal)

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
GEIGER_CALLED(GEIGER_DECLARE_CALLED)
/// glibc's, in the same object as its malloc.
[[gnu::weak]] void geiger_original_pvalloc() __asm__("__real_pvalloc");
}

namespace geiger::linked {
namespace {

struct Original {
  const char* name;
  void* address;
};

#define GEIGER_ROW(name) {#name, reinterpret_cast<void*>(geiger_original_##name)},
const Original kOriginals[] = {GEIGER_WRAPPED(GEIGER_ROW) GEIGER_CALLED(GEIGER_ROW)
                                   GEIGER_ROW(pvalloc)};
#undef GEIGER_ROW

}  // namespace

void* find_original(const char* name) {
  for (const Original& original : kOriginals) {
    if (strcmp(original.name, name) == 0) return original.address;
  }
  return nullptr;
}

}  // namespace geiger::linked
