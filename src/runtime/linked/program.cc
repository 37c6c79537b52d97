// A static program as the runtime sees it: one module, without a loader, whose functions the linker
// has found. In place of base/loader.cc and base/loader.cc, which read the loader's tables.
//
// Threads / Signals: safe; writes the same values again. Fork: safe. Allocates: never.

#include <elf.h>
#include <link.h>
#include <string.h>

#include <atomic>
#include <cstdint>

#include "base/loader.h"
#include "runtime/interpose/elf_lookup.h"

namespace geiger::linked {

// The functions that the entry points of a static program shadow, by name. `--wrap=NAME` leads the
// program's calls of NAME to __wrap_NAME, which is ours, and __real_NAME to what they led to
// before.

/// Null: the program has none of this name.
[[nodiscard]] void* find_original(const char* name);

}  // namespace geiger::linked

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

// What runtime/interpose/elf_lookup.h declares, where there is one module: the program, which
// contains the runtime. Whatever comes "next" has been found by the linker.
extern "C" {
/// Of musl's allocator from 1.2.1 on, and of no other.
// NOLINTNEXTLINE(bugprone-reserved-identifier, readability-identifier-naming): musl's name.
[[gnu::weak]] int __malloc_allzerop(void* block);
}

namespace geiger::interpose {

void search_all_modules() {}

const link_map* own_module() { return base::first_module(); }

Definition find_in(const link_map* module, const char* name) {
  void* address = base::find_symbol(module, name);
  return address == nullptr ? Definition{} : Definition{address, module};
}

bool refers_to(const link_map&, std::span<const char* const>) { return false; }

bool calls_itself_by_name(const link_map*) { return &__malloc_allzerop != nullptr; }

Definition find_next(const char* name) { return find_in(base::first_module(), name); }

}  // namespace geiger::interpose

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): the linker's, glibc's.
/// Where the file begins in memory.
[[gnu::visibility("hidden")]] extern const ElfW(Ehdr) __ehdr_start;
[[gnu::weak]] extern void* __libc_stack_end;
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
}

namespace geiger::base {

namespace {

constinit link_map executable{};
constinit std::atomic<bool> is_described{false};

char no_name[] = "";

/// The segment that holds the file's first byte was to lie at its address.
std::uintptr_t bias_of_executable() {
  const auto start = reinterpret_cast<std::uintptr_t>(&__ehdr_start);
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(start + __ehdr_start.e_phoff);
  for (std::size_t i = 0; i < __ehdr_start.e_phnum; ++i) {
    if (segments[i].p_type == PT_LOAD && segments[i].p_offset == 0)
      return start - segments[i].p_vaddr;
  }
  return 0;
}

}  // namespace

const link_map* first_module() {
  if (!is_described.load(std::memory_order_acquire)) {
    executable.l_addr = bias_of_executable();
    executable.l_name = no_name;
    is_described.store(true, std::memory_order_release);
  }
  return &executable;
}

void* find_symbol(const link_map*, const char* name) { return linked::find_original(name); }

void* find_function(const char* name) { return linked::find_original(name); }

void* find_variable(const link_map*, const char*) { return nullptr; }

CodeRange find_code(const link_map*, const char*) { return {0, 0}; }

void* first_stack() { return &__libc_stack_end == nullptr ? nullptr : __libc_stack_end; }

}  // namespace geiger::base
