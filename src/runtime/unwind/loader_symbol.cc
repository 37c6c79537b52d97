#include "runtime/unwind/loader_symbol.h"

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace geiger::unwind {
namespace {

/// DT_GNU_HASH: four words, a bloom filter, buckets, chains.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* hash = nullptr;
};

// The loader turns these entries into addresses, except in the read-only dynamic
// section of the vDSO, where nothing of interest is.
Tables tables_of(const link_map& map) {
  Tables tables;
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) address = entry->d_un.d_ptr;
    if (address < map.l_addr) continue;
    if (entry->d_tag == DT_SYMTAB) tables.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) tables.strings = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_GNU_HASH) tables.hash = reinterpret_cast<const std::uint32_t*>(address);
  }
  return tables;
}

std::uint32_t hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

}  // namespace

void* find_function(const link_map& map, const char* name) {
  const Tables tables = tables_of(map);
  if (tables.symbols == nullptr || tables.strings == nullptr || tables.hash == nullptr) {
    return nullptr;
  }
  const std::uint32_t bucket_count = tables.hash[0];
  const std::uint32_t first = tables.hash[1];
  const std::uint32_t filter_words = tables.hash[2];
  if (bucket_count == 0) return nullptr;
  const std::uint32_t* buckets = tables.hash + 4 + std::size_t{filter_words} * 2;
  const std::uint32_t hash = hash_of(name);
  std::uint32_t index = buckets[hash % bucket_count];
  if (index < first) return nullptr;
  for (;; ++index) {
    const std::uint32_t entry = (buckets + bucket_count)[index - first];
    const ElfW(Sym)& symbol = tables.symbols[index];
    if ((entry | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF &&
        ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
        std::strcmp(tables.strings + symbol.st_name, name) == 0) {
      return reinterpret_cast<void*>(map.l_addr + symbol.st_value);
    }
    if ((entry & 1) != 0) return nullptr;
  }
}

}  // namespace geiger::unwind
