// What runtime/interpose/elf_lookup.h declares, where there is one module: the program, which
// contains the runtime. Whatever comes "next" has been found by the linker.
#include "base/loaded_symbol.h"
#include "base/loader.h"
#include "runtime/interpose/elf_lookup.h"

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
