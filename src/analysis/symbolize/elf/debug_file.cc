#include "analysis/symbolize/elf/debug_file.h"

#include <dlfcn.h>
#include <elf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>

#include "analysis/symbolize/file.h"
#include "base/text.h"
#include "base/units.h"
#include "foreign/open.h"

namespace geiger::symbolize {

namespace {

bool is_build_id(std::string_view text) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() >= 4 && text.size() % 2 == 0 && std::all_of(text.begin(), text.end(), is_hex);
}

/// libdwfl would also unpack compressed kernels and relocate object files.
bool is_program_or_library(const base::UniqueFd& file) {
  std::array<unsigned char, EI_NIDENT + sizeof(Elf64_Half)> head{};
  if (::pread(file.get(), head.data(), head.size(), 0) != ssize_t{head.size()}) return false;
  if (std::memcmp(head.data(), ELFMAG, SELFMAG) != 0) return false;
  const bool is_big = head[EI_DATA] == ELFDATA2MSB;
  const int type = is_big ? head[EI_NIDENT] << 8 | head[EI_NIDENT + 1]
                          : head[EI_NIDENT + 1] << 8 | head[EI_NIDENT];
  return type == ET_EXEC || type == ET_DYN;
}

/// libdwfl's syntax: "" = the module's directory, relative = below that.
std::string search_path(const std::vector<std::string>& debug_dirs) {
  std::string path = ":.debug";
  for (const std::string& directory : debug_dirs) path += ":" + directory;
  return path;
}

std::string without_deleted_mark(const std::string& path) {
  constexpr std::string_view kMark = " (deleted)";
  return path.ends_with(kMark) ? path.substr(0, path.size() - kMark.size()) : path;
}

/// By the time of the inode, which an installer that keeps the times of its files cannot set.
bool has_changed_since(const std::string& path, Nanoseconds instant) {
  struct stat status {};
  if (instant == 0 || ::stat(path.c_str(), &status) != 0) return false;
  const timespec& changed = status.st_ctim;
  return static_cast<Nanoseconds>(changed.tv_sec) * 1'000'000'000 +
             static_cast<Nanoseconds>(changed.tv_nsec) >
         instant;
}

/// Downloads the debug file into debuginfod's cache and names it; "" = none.
/// The library is optional, as it is for libdwfl itself.
std::string ask_debuginfod(const std::string& build_id) {
  using Begin = void* (*)();
  using Find = int (*)(void*, const unsigned char*, int, char**);
  using End = void (*)(void*);
  void* const library = ::dlopen("libdebuginfod.so.1", RTLD_NOW);
  if (library == nullptr) return "";
  const auto begin = reinterpret_cast<Begin>(::dlsym(library, "debuginfod_begin"));
  const auto find = reinterpret_cast<Find>(::dlsym(library, "debuginfod_find_debuginfo"));
  const auto end = reinterpret_cast<End>(::dlsym(library, "debuginfod_end"));
  if (begin == nullptr || find == nullptr || end == nullptr) return "";
  void* const client = begin();
  if (client == nullptr) return "";
  char* path = nullptr;
  // Length 0: the build id is text in hex.
  const auto* text = reinterpret_cast<const unsigned char*>(build_id.c_str());
  const base::UniqueFd file(find(client, text, 0, &path));
  std::string found = file.is_open() && path != nullptr ? path : "";
  std::free(path);
  end(client);
  return found;
}

constexpr Bytes kLargestUnpacked = 4 * kGiB;
constexpr std::uint32_t kZstd = 2;  // ELFCOMPRESS_ZSTD

/// Whether it is worth to read the file: most are large and have no such section.
bool has_zstd_section(const base::UniqueFd& file) {
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_begin(file.get(), ELF_C_READ, nullptr),
                                                elf_end);
  Elf_Scn* section = nullptr;
  while (elf && (section = elf_nextscn(elf.get(), section)) != nullptr) {
    GElf_Chdr packed;
    if (gelf_getchdr(section, &packed) != nullptr && packed.ch_type == kZstd) return true;
  }
  return false;
}

/// The file with the sections that zstd compressed unpacked behind its end; "" where there are
/// none, or the file is damaged. libelf unpacks them by itself from 0.189 on.
std::string with_unpacked_sections(const std::string& path) {
  const base::UniqueFd file = foreign::open_regular(path, O_RDONLY);
  std::optional<std::string> bytes =
      file.is_open() && has_zstd_section(file) ? read_all(file, kLargestUnpacked) : std::nullopt;
  Elf64_Ehdr header;
  if (!bytes || bytes->size() < sizeof header) return "";
  std::memcpy(&header, bytes->data(), sizeof header);
  const bool has_sections = header.e_ident[EI_CLASS] == ELFCLASS64 &&
                            header.e_shentsize == sizeof(Elf64_Shdr) &&
                            header.e_shoff <= bytes->size() &&
                            header.e_shnum <= (bytes->size() - header.e_shoff) / sizeof(Elf64_Shdr);
  bool is_unpacked = false;
  for (std::size_t i = 0; has_sections && i < header.e_shnum; ++i) {
    const std::size_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    Elf64_Chdr packed;
    std::memcpy(&section, bytes->data() + at, sizeof section);
    const bool is_inside =
        section.sh_offset <= bytes->size() && section.sh_size <= bytes->size() - section.sh_offset;
    if ((section.sh_flags & SHF_COMPRESSED) == 0 || !is_inside) continue;
    if (section.sh_size < sizeof packed) continue;
    std::memcpy(&packed, bytes->data() + section.sh_offset, sizeof packed);
    if (packed.ch_type != kZstd || packed.ch_size > kLargestUnpacked - bytes->size()) continue;
    const std::string from =
        bytes->substr(section.sh_offset + sizeof packed, section.sh_size - sizeof packed);
    section.sh_offset = bytes->size();
    bytes->resize(bytes->size() + packed.ch_size);
    section.sh_size = ZSTD_decompress(bytes->data() + section.sh_offset, packed.ch_size,
                                      from.data(), from.size());
    if (section.sh_size != packed.ch_size) return "";
    section.sh_flags &= ~Elf64_Xword{SHF_COMPRESSED};
    section.sh_addralign = packed.ch_addralign;
    std::memcpy(bytes->data() + at, &section, sizeof section);
    is_unpacked = true;
  }
  return is_unpacked ? *std::move(bytes) : "";
}

bool has_units(Dwarf* dwarf) {
  Dwarf_Off next = 0;
  std::size_t bytes = 0;
  return dwarf != nullptr && dwarf_nextcu(dwarf, 0, &next, &bytes, nullptr, nullptr, nullptr) == 0;
}

}  // namespace

std::unique_ptr<const DebugFile> open_debug_file(const std::string& path,
                                                 const std::string& build_id,
                                                 const SearchOptions& options) {
  auto best = std::make_unique<const DebugFile>(path, build_id, options);
  const auto [first, end] = options.kept_files.equal_range(build_id);
  for (auto kept = first; kept != end && !build_id.empty(); ++kept) {
    if (best->file_state() == FileState::kDebugInfo) break;
    auto other = std::make_unique<const DebugFile>(kept->second, build_id, options);
    if (other->file_state() < best->file_state()) best = std::move(other);
  }
  return best;
}

std::string build_id_path(const std::string& directory, const std::string& build_id) {
  if (!is_build_id(build_id)) return "";
  return directory + "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
}

DebugFile::DebugFile(const std::string& path, const std::string& build_id,
                     const SearchOptions& options)
    : search_path_(search_path(options.debug_dirs)), search_path_pointer_(search_path_.data()) {
  callbacks_.find_elf = dwfl_build_id_find_elf;
  callbacks_.find_debuginfo = dwfl_standard_find_debuginfo;
  callbacks_.section_address = dwfl_offline_section_address;
  callbacks_.debuginfo_path = &search_path_pointer_;
  file_state_ = open(path, build_id, options.unchanged_since);
  const bool is_gone = file_state_ == FileState::kMissing || file_state_ == FileState::kChanged;
  if (is_gone && open_by_build_id(build_id, options) == FileState::kSymbolsOnly) {
    file_state_ = FileState::kSymbolsOnly;
  }
  if (file_state_ == FileState::kSymbolsOnly && options.read_dwarf) find_dwarf();
}

FileState DebugFile::open(const std::string& path, const std::string& build_id,
                          Nanoseconds unchanged_since) {
  const std::string file = without_deleted_mark(path);
  const FileState file_state = report(file);
  if (file_state != FileState::kSymbolsOnly) return file_state;
  if (build_id.empty()) {
    if (!has_changed_since(file, unchanged_since)) return file_state;
    module_ = nullptr;
    return FileState::kChanged;
  }
  const unsigned char* bits = nullptr;
  GElf_Addr address = 0;
  const int bytes = dwfl_module_build_id(module_, &bits, &address);
  if (bytes > 0) found_build_id_ = base::hex_of(std::span(bits, static_cast<std::size_t>(bytes)));
  if (found_build_id_ == build_id) return file_state;
  module_ = nullptr;
  return FileState::kChanged;
}

// The addresses of a debug file are those of its module, so it can stand in.
FileState DebugFile::open_by_build_id(const std::string& build_id, const SearchOptions& options) {
  for (const std::string& directory : options.debug_dirs) {
    const std::string path = build_id_path(directory, build_id);
    if (!path.empty() && open(path, build_id, 0) == FileState::kSymbolsOnly) {
      return FileState::kSymbolsOnly;
    }
  }
  if (!options.use_debuginfod || !is_build_id(build_id)) return FileState::kMissing;
  const std::string path = ask_debuginfod(build_id);
  return path.empty() ? FileState::kMissing : open(path, build_id, 0);
}

FileState DebugFile::report(const std::string& path) {
  module_ = nullptr;
  base::UniqueFd file = foreign::open_regular(path, O_RDONLY);
  if (!file.is_open()) return FileState::kMissing;
  if (!is_program_or_library(file)) return FileState::kUnreadable;
  dwfl_.reset(dwfl_begin(&callbacks_));
  if (!dwfl_) return FileState::kUnreadable;
  dwfl_report_begin(dwfl_.get());
  // Base 0 with the file's own vaddrs: what a recording holds.
  module_ = dwfl_report_elf(dwfl_.get(), path.c_str(), path.c_str(), file.get(), 0, true);
  if (module_ != nullptr) (void)file.release();
  dwfl_report_end(dwfl_.get(), nullptr, nullptr);
  if (module_ == nullptr || dwfl_module_getelf(module_, &bias_) == nullptr) {
    module_ = nullptr;
    return FileState::kUnreadable;
  }
  return FileState::kSymbolsOnly;
}

void DebugFile::find_dwarf() {
  dwarf_ = dwfl_module_getdwarf(module_, &dwarf_bias_);
  if (!has_units(dwarf_)) unpack_dwarf();
  if (!has_units(dwarf_)) dwarf_ = nullptr;
  if (dwarf_ != nullptr) file_state_ = FileState::kDebugInfo;
}

void DebugFile::unpack_dwarf() {
  const char* main = nullptr;
  const char* debug = nullptr;
  dwfl_module_info(module_, nullptr, nullptr, nullptr, nullptr, nullptr, &main, &debug);
  for (const char* path : {debug, main}) {
    if (path == nullptr || has_units(unpacked_dwarf_.get())) continue;
    unpacked_dwarf_.reset();
    unpacked_elf_.reset();
    unpacked_ = with_unpacked_sections(path);
    if (unpacked_.empty()) continue;
    unpacked_elf_.reset(elf_memory(unpacked_.data(), unpacked_.size()));
    unpacked_dwarf_.reset(dwarf_begin_elf(unpacked_elf_.get(), DWARF_C_READ, nullptr));
  }
  dwarf_ = unpacked_dwarf_.get();
  dwarf_bias_ = bias_;
}

std::string DebugFile::missing_alternate() const {
  const char* name = nullptr;
  const void* build_id = nullptr;
  const bool has_alternate =
      dwarf_ != nullptr && dwelf_dwarf_gnu_debugaltlink(dwarf_, &name, &build_id) > 0;
  return has_alternate && dwarf_getalt(dwarf_) == nullptr ? name : "";
}

namespace {

constexpr std::uint32_t kUnsizedRank = 8;

/// Lower is better: sized before unsized, functions before labels, what others
/// can link to before what is private, as a reader knows those names.
std::uint32_t rank_of(const GElf_Sym& symbol) {
  const auto type = GELF_ST_TYPE(symbol.st_info);
  const auto binding = GELF_ST_BIND(symbol.st_info);
  const std::uint32_t binding_rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
  return (symbol.st_size == 0 ? kUnsizedRank : 0U) + (type == STT_NOTYPE ? 4U : 0U) + binding_rank;
}

bool names_code(const GElf_Sym& symbol, GElf_Word section) {
  const auto type = GELF_ST_TYPE(symbol.st_info);
  const bool is_code = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
  return is_code && section != SHN_UNDEF && section != SHN_ABS && section != SHN_COMMON;
}

/// ARM, RISC-V and others mark code and data with names like "$x.3".
bool is_mapping_symbol(std::string_view name) { return name.starts_with('$'); }

std::string_view without_version(std::string_view name) {
  const std::size_t at = name.find('@');
  return at == 0 || at == std::string_view::npos ? name : name.substr(0, at);
}

}  // namespace

ElfSymbols::ElfSymbols(const DebugFile& file) {
  if (file.module() == nullptr) return;
  add_symbols(file);
  std::sort(symbols_.begin(), symbols_.end(), [](const ElfSymbol& a, const ElfSymbol& b) {
    return std::tuple(a.start, b.rank, b.name) < std::tuple(b.start, a.rank, a.name);
  });
  close_open_ends();
  Address furthest = 0;
  furthest_.reserve(symbols_.size());
  for (const ElfSymbol& symbol : symbols_) {
    furthest = std::max(furthest, symbol.end);
    furthest_.push_back(furthest);
  }
}

void ElfSymbols::add_symbols(const DebugFile& file) {
  const int count = dwfl_module_getsymtab(file.module());
  symbols_.reserve(static_cast<std::size_t>(std::max(count, 0)));
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = 0;
    const char* name =
        dwfl_module_getsym_info(file.module(), i, &symbol, &address, &section, nullptr, nullptr);
    if (name == nullptr || *name == '\0' || !names_code(symbol, section)) continue;
    if (is_mapping_symbol(name)) continue;
    const Address start = address - file.bias();
    const Address size = std::min<Address>(symbol.st_size, ~start);
    symbols_.push_back({start, start + size, without_version(name), rank_of(symbol)});
  }
}

// Hand-written assembly often has no sizes. The next symbol bounds it; how far the last one reaches
// is not known, so it covers its first page.
void ElfSymbols::close_open_ends() {
  constexpr Address kLastSymbolBytes = 4096;
  Address next_start = 0;
  Address start = 0;
  for (auto symbol = symbols_.rbegin(); symbol != symbols_.rend(); ++symbol) {
    if (symbol == symbols_.rbegin()) {
      start = symbol->start;
      next_start = start + std::min(kLastSymbolBytes, ~start);
    } else if (symbol->start != start) {
      next_start = start;
      start = symbol->start;
    }
    if (symbol->end == symbol->start) symbol->end = next_start;
  }
}

// Walks back from the last symbol that starts before the address, as long as an
// earlier one can still reach it. At equal starts the best rank comes last. A
// few steps in real files; the limit keeps crafted tables from taking long.
// A label without a size counts only where no function covers the address.
const ElfSymbol* ElfSymbols::find(Address address) const {
  constexpr int kMaxSteps = 1000;
  const auto starts_after = [](Address value, const ElfSymbol& s) { return value < s.start; };
  auto at = std::upper_bound(symbols_.begin(), symbols_.end(), address, starts_after);
  const ElfSymbol* label = nullptr;
  for (int steps = 0; steps < kMaxSteps && at != symbols_.begin(); ++steps) {
    --at;
    if (address < at->end && at->rank < kUnsizedRank) return &*at;
    if (address < at->end && label == nullptr) label = &*at;
    if (address >= furthest_[static_cast<std::size_t>(at - symbols_.begin())]) break;
  }
  return label;
}

}  // namespace geiger::symbolize
