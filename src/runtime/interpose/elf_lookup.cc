#include "runtime/interpose/elf_lookup.h"

#include <elf.h>
#include <string.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/loader.h"

namespace geiger::interpose {

namespace {

constinit bool searches_all = false;

/// The parts of a module's dynamic section that describe its imports.
struct Imports {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const ElfW(Rela) * tables[2] = {};
  std::size_t bytes[2] = {};
};

Imports imports_of(const link_map& module) {
  Imports imports;
  // glibc relocates these pointers in place, except in objects that it did not load itself.
  const auto pointer = [&module](std::uintptr_t value) {
    return value < module.l_addr ? value + module.l_addr : value;
  };
  for (const ElfW(Dyn)* entry = module.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const std::uintptr_t value = entry->d_un.d_ptr;
    const bool is_call = entry->d_tag == DT_JMPREL || entry->d_tag == DT_PLTRELSZ;
    if (entry->d_tag == DT_SYMTAB) {
      imports.symbols = reinterpret_cast<const ElfW(Sym)*>(pointer(value));
    } else if (entry->d_tag == DT_STRTAB) {
      imports.strings = reinterpret_cast<const char*>(pointer(value));
    } else if (entry->d_tag == DT_RELA || entry->d_tag == DT_JMPREL) {
      imports.tables[is_call ? 1 : 0] = reinterpret_cast<const ElfW(Rela)*>(pointer(value));
    } else if (entry->d_tag == DT_RELASZ || entry->d_tag == DT_PLTRELSZ) {
      imports.bytes[is_call ? 1 : 0] = value;
    }
  }
  return imports;
}

}  // namespace

void search_all_modules() { searches_all = true; }

const link_map* own_module() {
  const link_map* module = base::first_module();
  while (module != nullptr && module->l_ld != _DYNAMIC) module = module->l_next;
  return module;
}

Definition find_in(const link_map* module, const char* name) {
  void* address = base::find_symbol(module, name);
  return address == nullptr ? Definition{} : Definition{address, module};
}

bool refers_to(const link_map& module, std::span<const char* const> functions) {
  const Imports imports = imports_of(module);
  if (imports.symbols == nullptr || imports.strings == nullptr) return false;
  for (std::size_t table = 0; table < 2; ++table) {
    if (imports.tables[table] == nullptr) continue;
    const std::size_t count = imports.bytes[table] / sizeof(ElfW(Rela));
    for (std::size_t i = 0; i < count; ++i) {
      const ElfW(Sym)& symbol = imports.symbols[ELF64_R_SYM(imports.tables[table][i].r_info)];
      const char* name = imports.strings + symbol.st_name;
      if (std::ranges::any_of(functions, [name](auto known) { return strcmp(name, known) == 0; }))
        return true;
    }
  }
  return false;
}

bool calls_itself_by_name(const link_map* allocator) {
  constexpr const char* kFamily[] = {"malloc",         "calloc",   "realloc",
                                     "reallocarray",   "memalign", "aligned_alloc",
                                     "posix_memalign", "valloc",   "pvalloc"};
  // glibc's calls are in functions that we replace, or outside of its allocator; jemalloc's are in
  // operators new.
  const bool is_exempt = find_in(allocator, "gnu_get_libc_version").address != nullptr ||
                         find_in(allocator, "mallctl").address != nullptr;
  return !is_exempt && refers_to(*allocator, kFamily);
}

Definition find_next(const char* name) {
  bool is_candidate = searches_all;
  for (const link_map* module = base::first_module(); module != nullptr; module = module->l_next) {
    const bool is_own = module->l_ld == _DYNAMIC;
    if (is_candidate && !is_own) {
      if (const Definition found = find_in(module, name); found.address != nullptr) return found;
    }
    is_candidate = is_candidate || is_own;
  }
  return {};
}

}  // namespace geiger::interpose
