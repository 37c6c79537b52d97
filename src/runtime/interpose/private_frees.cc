#include "runtime/interpose/private_frees.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/loader.h"
#include "runtime/interpose/elf_lookup.h"

namespace geiger::interpose {
namespace {

/// Functions of jemalloc, mimalloc and tcmalloc.
constexpr const char* kPrivate[] = {
    "sdallocx", "dallocx", "rallocx",  "xallocx",    "sallocx",       "je_free",
    "mi_free",  "tc_free", "mi_cfree", "mi_realloc", "tc_free_sized", "mi_free_size",
};

bool is_private(const char* name) {
  return std::any_of(std::begin(kPrivate), std::end(kPrivate),
                     [name](const char* known) { return strcmp(name, known) == 0; });
}

bool has_private(const link_map* allocator) {
  return std::any_of(std::begin(kPrivate), std::end(kPrivate), [allocator](const char* name) {
    return find_in(allocator, name).address != nullptr;
  });
}

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

bool calls_private(const link_map& module) {
  const Imports imports = imports_of(module);
  if (imports.symbols == nullptr || imports.strings == nullptr) return false;
  for (std::size_t table = 0; table < 2; ++table) {
    if (imports.tables[table] == nullptr) continue;
    const std::size_t count = imports.bytes[table] / sizeof(ElfW(Rela));
    for (std::size_t i = 0; i < count; ++i) {
      const ElfW(Sym)& symbol = imports.symbols[ELF64_R_SYM(imports.tables[table][i].r_info)];
      if (symbol.st_shndx == SHN_UNDEF && is_private(imports.strings + symbol.st_name)) return true;
    }
  }
  return false;
}

}  // namespace

bool frees_privately(const link_map* allocator) {
  if (allocator == nullptr || !has_private(allocator)) return false;
  for (const link_map* module = base::first_module(); module != nullptr; module = module->l_next) {
    if (module != allocator && calls_private(*module)) return true;
  }
  return false;
}

}  // namespace geiger::interpose
