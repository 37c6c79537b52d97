// A static program as the runtime sees it: one module, without a loader, whose functions the linker
// has found. In place of base/loader.cc and base/loaded_symbol.cc, which read the loader's tables.
//
// Threads / Signals: safe; writes the same values again. Fork: safe. Allocates: never.
#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstdint>

#include "base/loaded_symbol.h"
#include "base/loader.h"
#include "runtime/linked/originals.h"

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
