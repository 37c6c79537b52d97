#include "base/loader.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

#include <cstdint>

#if defined(__aarch64__)
#include <sys/auxv.h>
#include <sys/ifunc.h>
#endif

extern "C" void* __libc_stack_end;  // NOLINT: the loader's name.

// Wherever the loader defines them: glibc's.
#pragma weak _r_debug
#pragma weak __libc_stack_end

namespace geiger::base {

namespace {

/// The loader's list as debuggers find it: any loader writes its address into the executable.
const r_debug* list_for_debuggers() {
  const auto* headers = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  const std::size_t count = getauxval(AT_PHNUM);
  std::uintptr_t bias = 0;
  const ElfW(Dyn)* dynamic = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_PHDR) {
      bias = reinterpret_cast<std::uintptr_t>(headers) - headers[i].p_vaddr;
    }
    if (headers[i].p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(bias + headers[i].p_vaddr);
    }
  }
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_DEBUG) return reinterpret_cast<const r_debug*>(dynamic->d_un.d_ptr);
  }
  return nullptr;
}

}  // namespace

const link_map* first_module() {
  if (&_r_debug != nullptr) return _r_debug.r_map;
  const r_debug* list = list_for_debuggers();
  return list == nullptr ? nullptr : list->r_map;
}

void* find_function(const char* name) {
  for (const link_map* module = first_module(); module != nullptr; module = module->l_next) {
    if (void* found = find_symbol(module, name); found != nullptr) return found;
  }
  return nullptr;
}

/// Without the loader's word: the name of the executable, which the kernel put after everything
/// else on that stack.
void* first_stack() {
  if (&__libc_stack_end != nullptr) return __libc_stack_end;
  return nullptr;
}

namespace {

/// The tables of one module's dynamic section that a look-up needs.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* sysv_hash = nullptr;
  const std::uint16_t* versions = nullptr;
};

/// glibc relocates these pointers in place, except in objects it did not load.
template <typename T>
const T* pointer_of(const link_map* module, ElfW(Addr) value) {
  const ElfW(Addr) address = value < module->l_addr ? value + module->l_addr : value;
  return reinterpret_cast<const T*>(address);
}

Tables tables_of(const link_map* module) {
  Tables tables;
  if (module->l_ld == nullptr) return tables;
  for (const ElfW(Dyn)* entry = module->l_ld; entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) value = entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_SYMTAB:
        tables.symbols = pointer_of<ElfW(Sym)>(module, value);
        break;
      case DT_STRTAB:
        tables.strings = pointer_of<char>(module, value);
        break;
      case DT_GNU_HASH:
        tables.gnu_hash = pointer_of<std::uint32_t>(module, value);
        break;
      case DT_HASH:
        tables.sysv_hash = pointer_of<std::uint32_t>(module, value);
        break;
      case DT_VERSYM:
        tables.versions = pointer_of<std::uint16_t>(module, value);
        break;
      default:
        break;
    }
  }
  return tables;
}

enum class Wanted : std::uint8_t { kFunction, kVariable };

struct Name {
  const char* text;
  Wanted wanted;
};

bool is_of_type(unsigned type, Wanted wanted) {
  if (wanted == Wanted::kVariable) return type == STT_OBJECT;
  return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

/// Defined, of the type that is wanted, and not an old version kept for compatibility (hidden bit
/// of its version).
bool is_match(const Tables& tables, std::uint32_t index, const Name& name) {
  constexpr std::uint16_t kHiddenVersion = 0x8000;
  const ElfW(Sym)& symbol = tables.symbols[index];
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 && is_of_type(type, name.wanted) &&
         (tables.versions == nullptr || (tables.versions[index] & kHiddenVersion) == 0) &&
         strcmp(tables.strings + symbol.st_name, name.text) == 0;
}

std::uint32_t gnu_hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

/// Index of the symbol or 0. Layout: counts, Bloom words, buckets, chains; a
/// chain ends at an odd hash.
std::uint32_t find_gnu(const Tables& tables, const Name& name) {
  const std::uint32_t* head = tables.gnu_hash;
  const std::uint32_t bucket_count = head[0];
  const std::uint32_t first_symbol = head[1];
  const std::uint32_t* buckets = head + 4 + head[2] * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* chains = buckets + bucket_count;
  if (bucket_count == 0) return 0;
  const std::uint32_t hash = gnu_hash_of(name.text);
  std::uint32_t index = buckets[hash % bucket_count];
  if (index < first_symbol) return 0;
  for (;; ++index) {
    const std::uint32_t seen = chains[index - first_symbol];
    if ((seen | 1) == (hash | 1) && is_match(tables, index, name)) return index;
    if ((seen & 1) != 0) return 0;
  }
}

/// The old table gives the number of symbols; a linear search is enough for it.
std::uint32_t find_sysv(const Tables& tables, const Name& name) {
  const std::uint32_t count = tables.sysv_hash[1];
  for (std::uint32_t index = 1; index < count; ++index) {
    if (is_match(tables, index, name)) return index;
  }
  return 0;
}

/// As the loader calls resolvers: the processor's features are arguments where they cannot be asked
/// for.
void* resolve_indirect(ElfW(Addr) resolver) {
#if defined(__x86_64__)
  return reinterpret_cast<void* (*)()>(resolver)();
#elif defined(__aarch64__)
  const std::uint64_t hwcap = getauxval(AT_HWCAP);
  const __ifunc_arg_t more{sizeof more, hwcap, getauxval(AT_HWCAP2)};
  return reinterpret_cast<void* (*)(std::uint64_t, const __ifunc_arg_t*)>(resolver)(
      hwcap | _IFUNC_ARG_HWCAP, &more);
#else
#error "how does this processor's loader call resolvers?"
#endif
}

void* address_of(const link_map* module, const ElfW(Sym) & symbol) {
  const ElfW(Addr) address = module->l_addr + symbol.st_value;
  if (ELF64_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC) return reinterpret_cast<void*>(address);
  return resolve_indirect(address);
}

/// The symbol of this name and type that `module` defines, or null.
const ElfW(Sym) * find(const link_map* module, const Name& name) {
  const Tables tables = tables_of(module);
  if (tables.symbols == nullptr || tables.strings == nullptr) return nullptr;
  std::uint32_t index = 0;
  if (tables.gnu_hash != nullptr) {
    index = find_gnu(tables, name);
  } else if (tables.sysv_hash != nullptr) {
    index = find_sysv(tables, name);
  }
  return index == 0 ? nullptr : &tables.symbols[index];
}

}  // namespace

void* find_symbol(const link_map* module, const char* name) {
  const ElfW(Sym)* symbol = find(module, {name, Wanted::kFunction});
  return symbol == nullptr ? nullptr : address_of(module, *symbol);
}

void* find_variable(const link_map* module, const char* name) {
  const ElfW(Sym)* symbol = find(module, {name, Wanted::kVariable});
  return symbol == nullptr ? nullptr : reinterpret_cast<void*>(module->l_addr + symbol->st_value);
}

CodeRange find_code(const link_map* module, const char* name) {
  const ElfW(Sym)* symbol = find(module, {name, Wanted::kFunction});
  if (symbol == nullptr) return {0, 0};
  const Address start = module->l_addr + symbol->st_value;
  return {start, start + symbol->st_size};
}

}  // namespace geiger::base
