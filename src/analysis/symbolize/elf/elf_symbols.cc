#include "analysis/symbolize/elf/elf_symbols.h"

#include <gelf.h>

#include <algorithm>
#include <tuple>

namespace geiger::symbolize {
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
