#include "inject/remote_modules.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/text.h"

namespace geiger::inject {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLongestText = 4096;

}  // namespace

std::size_t RemoteMemory::read_some(Address from, void* to, std::size_t bytes) const {
  const iovec here{to, bytes};
  const iovec there{reinterpret_cast<void*>(from), bytes};
  const auto got = process_vm_readv(pid_, &here, 1, &there, 1, 0);
  return got < 0 ? 0 : static_cast<std::size_t>(got);
}

bool RemoteMemory::read(Address from, void* to, std::size_t bytes) const {
  return read_some(from, to, bytes) == bytes;
}

bool RemoteMemory::write(Address to, const void* from, std::size_t bytes) const {
  const iovec here{const_cast<void*>(from), bytes};
  const iovec there{reinterpret_cast<void*>(to), bytes};
  return process_vm_writev(pid_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

std::string RemoteMemory::text(Address from) const {
  std::string text;
  char page[kPage];
  while (text.size() < kLongestText) {
    const std::size_t got = read_some(from, page, kPage - from % kPage);
    char* const end = std::find(page, page + got, '\0');
    text.append(page, static_cast<std::size_t>(end - page));
    if (got == 0 || end != page + got) break;
    from += got;
  }
  return text;
}

namespace {

constexpr std::uint32_t kMostSymbols = 1U << 20;
constexpr std::uint64_t kMostStrings = std::uint64_t{64} << 20;

bool is_any_of(std::string_view name, std::initializer_list<std::string_view> starts) {
  return std::ranges::any_of(starts, [&](auto start) { return name.starts_with(start); });
}

ModuleKind kind_by_name(std::string_view path) {
  const std::string_view name = base::file_name_of(path);
  if (is_any_of(name, {"ld-linux", "ld-2.", "ld.so", "ld64"})) return ModuleKind::kLoader;
  if (is_any_of(name, {"libc.so.6", "libc-2.", "libpthread.so", "libpthread-2.", "libdl.so",
                       "libdl-2."})) {
    return ModuleKind::kLibc;
  }
  if (is_any_of(name, {"libgeiger-preload.so"}) || path.starts_with("/memfd:geiger")) {
    return ModuleKind::kRuntime;
  }
  return ModuleKind::kOrdinary;
}

struct MapsLine {
  Address begin = 0, end = 0;
  std::uint64_t offset = 0, inode = 0;
  bool is_code = false;
  std::string device, path;
};

// "begin-end perms offset dev inode   path"
std::optional<MapsLine> parse(const std::string& text) {
  MapsLine line;
  char dash = 0;
  std::string permissions;
  std::istringstream in(text);
  in >> std::hex >> line.begin >> dash >> line.end >> permissions >> line.offset >> line.device >>
      std::dec >> line.inode;
  if (!in || dash != '-' || permissions.size() < 4) return std::nullopt;
  line.is_code = permissions[2] == 'x';
  std::getline(in >> std::ws, line.path);
  return line;
}

/// Where the tables of one module are.
struct Tables {
  Address bias = 0;
  Address symbols = 0, strings = 0, gnu_hash = 0;
  std::uint64_t string_bytes = 0;
};

std::optional<Tables> tables_of(const RemoteMemory& memory, const RemoteModule& module) {
  const auto header = memory.get<Elf64_Ehdr>(module.base);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr)) {
    return std::nullopt;
  }
  Tables tables;
  Address dynamic = 0;
  bool has_bias = false;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment =
        memory.get<Elf64_Phdr>(module.base + header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return std::nullopt;
    if (segment->p_type == PT_LOAD && !has_bias) {
      tables.bias = module.base - (segment->p_vaddr - segment->p_offset);
      has_bias = true;
    }
    if (segment->p_type == PT_DYNAMIC) dynamic = segment->p_vaddr;
  }
  if (dynamic == 0) return std::nullopt;
  // glibc relocates these pointers in place.
  const auto absolute = [&](Address value) {
    return value < tables.bias ? value + tables.bias : value;
  };
  for (Address at = tables.bias + dynamic;; at += sizeof(Elf64_Dyn)) {
    const auto entry = memory.get<Elf64_Dyn>(at);
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_SYMTAB) tables.symbols = absolute(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) tables.strings = absolute(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRSZ) tables.string_bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_GNU_HASH) tables.gnu_hash = absolute(entry->d_un.d_ptr);
  }
  if (tables.symbols == 0 || tables.strings == 0 || tables.gnu_hash == 0) return std::nullopt;
  return tables;
}

/// The GNU hash table: counts, Bloom words, buckets, chains; a chain ends at an odd hash.
struct HashTable {
  std::uint32_t bucket_count = 0, first_symbol = 0;
  Address buckets = 0, chains = 0;
};

std::optional<HashTable> hash_table(const RemoteMemory& memory, const Tables& tables) {
  struct Head {
    std::uint32_t bucket_count, first_symbol, bloom_words, shift;
  };
  const auto head = memory.get<Head>(tables.gnu_hash);
  if (!head || head->bucket_count == 0 || head->bucket_count > kMostSymbols) return std::nullopt;
  HashTable table{head->bucket_count, head->first_symbol, 0, 0};
  table.buckets = tables.gnu_hash + sizeof(Head) + std::uint64_t{head->bloom_words} * 8;
  table.chains = table.buckets + std::uint64_t{head->bucket_count} * 4;
  return table;
}

std::uint32_t gnu_hash_of(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

bool is_defined(const Elf64_Sym& symbol) {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
         (type == STT_FUNC || type == STT_OBJECT || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

/// One past the last symbol in the table.
std::uint32_t symbol_count(const RemoteMemory& memory, const HashTable& table) {
  std::vector<std::uint32_t> buckets(table.bucket_count);
  if (!memory.read(table.buckets, buckets.data(), buckets.size() * 4)) return 0;
  std::uint32_t last = *std::ranges::max_element(buckets);
  if (last < table.first_symbol) return 0;
  for (; last < kMostSymbols; ++last) {
    const auto hash =
        memory.get<std::uint32_t>(table.chains + std::uint64_t{last - table.first_symbol} * 4);
    if (!hash) return 0;
    if ((*hash & 1) != 0) return last + 1;
  }
  return 0;
}

bool defines_malloc(const RemoteMemory& memory, const RemoteModule& module) {
  return find_symbol(memory, module, "malloc").has_value();
}

}  // namespace

std::vector<RemoteModule> modules_in(std::string_view maps) {
  std::vector<RemoteModule> modules;
  std::istringstream in{std::string(maps)};
  for (std::string text; std::getline(in, text);) {
    const auto line = parse(text);
    if (!line || line->inode == 0 || line->path.empty()) continue;
    const bool continues = !modules.empty() && modules.back().path == line->path &&
                           modules.back().inode == line->inode && line->offset != 0;
    if (!continues && line->offset != 0) continue;
    if (!continues) {
      modules.push_back({line->path,
                         line->begin,
                         0,
                         kind_by_name(line->path),
                         {},
                         line->device,
                         line->inode,
                         line->end});
    }
    modules.back().end = line->end;
    if (line->is_code) modules.back().code.push_back({line->begin, line->end});
  }
  std::erase_if(modules, [](const RemoteModule& module) { return module.code.empty(); });
  return modules;
}

std::vector<RemoteModule> named_modules_of(pid_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  return modules_in(text);
}

std::vector<RemoteModule> modules_of(pid_t pid) {
  std::vector<RemoteModule> modules = named_modules_of(pid);
  const RemoteMemory memory(pid);
  for (RemoteModule& module : modules) {
    if (module.kind == ModuleKind::kOrdinary && defines_malloc(memory, module)) {
      module.kind = ModuleKind::kAllocator;
    }
  }
  return modules;
}

std::optional<RemoteSymbol> find_symbol(const RemoteMemory& memory, const RemoteModule& module,
                                        std::string_view name) {
  const auto tables = tables_of(memory, module);
  const auto table = tables ? hash_table(memory, *tables) : std::nullopt;
  if (!table) return std::nullopt;
  const std::uint32_t hash = gnu_hash_of(name);
  const auto bucket =
      memory.get<std::uint32_t>(table->buckets + std::uint64_t{hash % table->bucket_count} * 4);
  if (!bucket || *bucket < table->first_symbol) return std::nullopt;
  for (std::uint32_t index = *bucket; index < kMostSymbols; ++index) {
    const auto seen =
        memory.get<std::uint32_t>(table->chains + std::uint64_t{index - table->first_symbol} * 4);
    if (!seen) return std::nullopt;
    if ((*seen | 1) == (hash | 1)) {
      const auto symbol = memory.get<Elf64_Sym>(tables->symbols + index * sizeof(Elf64_Sym));
      if (symbol && is_defined(*symbol) && memory.text(tables->strings + symbol->st_name) == name) {
        return RemoteSymbol{tables->bias + symbol->st_value, symbol->st_size, std::string(name)};
      }
    }
    if ((*seen & 1) != 0) return std::nullopt;
  }
  return std::nullopt;
}

std::vector<RemoteSymbol> functions_of(const RemoteMemory& memory, const RemoteModule& module) {
  const auto tables = tables_of(memory, module);
  const auto table = tables ? hash_table(memory, *tables) : std::nullopt;
  if (!table || tables->string_bytes > kMostStrings) return {};
  std::vector<Elf64_Sym> symbols(symbol_count(memory, *table));
  std::string strings(tables->string_bytes, '\0');
  if (!memory.read(tables->symbols, symbols.data(), symbols.size() * sizeof(Elf64_Sym)) ||
      !memory.read(tables->strings, strings.data(), strings.size())) {
    return {};
  }
  std::vector<RemoteSymbol> functions;
  for (const Elf64_Sym& symbol : symbols) {
    const bool is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && is_defined(symbol);
    if (!is_function || symbol.st_name >= strings.size()) continue;
    functions.push_back(
        {tables->bias + symbol.st_value, symbol.st_size, strings.c_str() + symbol.st_name});
  }
  std::ranges::sort(functions, {}, &RemoteSymbol::address);
  return functions;
}

const RemoteModule* first_of(const std::vector<RemoteModule>& modules, ModuleKind kind) {
  const auto found = std::ranges::find(modules, kind, &RemoteModule::kind);
  return found == modules.end() ? nullptr : &*found;
}

}  // namespace geiger::inject
