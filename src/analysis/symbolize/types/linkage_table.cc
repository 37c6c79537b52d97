#include "analysis/symbolize/types/linkage_table.h"

#include <gelf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace geiger::symbolize {
namespace {

/// Relocations of all tables together; the largest libraries have some 100,000.
constexpr std::size_t kMaxRelocations = std::size_t{1} << 22;

bool fills_a_slot(std::uint32_t type) {
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
}

template <std::size_t N>
bool skip(std::span<const std::uint8_t>& code, Address& address,
          const std::array<std::uint8_t, N>& bytes) {
  if (code.size() < N || !std::ranges::equal(code.first(N), bytes)) return false;
  code = code.subspan(N);
  address += N;
  return true;
}

}  // namespace

LinkageTable::LinkageTable(Elf* elf) {
  std::size_t seen = 0;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_RELA) continue;
    Elf_Data* const relocations = elf_getdata(section, nullptr);
    Elf_Scn* const symbol_section = elf_getscn(elf, header.sh_link);
    GElf_Shdr symbol_header;
    if (relocations == nullptr || gelf_getshdr(symbol_section, &symbol_header) == nullptr ||
        symbol_header.sh_type != SHT_DYNSYM) {
      continue;
    }
    Elf_Data* const symbols = elf_getdata(symbol_section, nullptr);
    GElf_Rela relocation;
    for (int i = 0; gelf_getrela(relocations, i, &relocation) != nullptr; ++i) {
      if (++seen > kMaxRelocations) return;
      if (!fills_a_slot(static_cast<std::uint32_t>(GELF_R_TYPE(relocation.r_info)))) continue;
      GElf_Sym symbol;
      const auto index = static_cast<int>(GELF_R_SYM(relocation.r_info));
      if (gelf_getsym(symbols, index, &symbol) == nullptr) continue;
      const bool is_own = symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
                          GELF_ST_TYPE(symbol.st_info) == STT_FUNC;
      if (is_own) functions_.emplace(relocation.r_offset, symbol.st_value);
    }
  }
}

Address LinkageTable::function_behind(Address address, const CodeAt& code_at) const {
  constexpr std::array<std::uint8_t, 4> kEndBranch{0xf3, 0x0f, 0x1e, 0xfa};
  constexpr std::array<std::uint8_t, 1> kBound{0xf2};
  constexpr std::array<std::uint8_t, 2> kJump{0xff, 0x25};  // jmp *displacement(%rip)
  std::span<const std::uint8_t> code = code_at(address);
  Address at = address;
  skip(code, at, kEndBranch);
  skip(code, at, kBound);
  if (!skip(code, at, kJump) || code.size() < 4) return address;
  std::uint32_t displacement = 0;
  for (std::size_t i = 0; i < 4; ++i) displacement |= std::uint32_t{code[i]} << (8 * i);
  const auto offset = static_cast<std::int32_t>(displacement);
  const auto known = functions_.find(at + 4 + static_cast<Address>(std::int64_t{offset}));
  return known == functions_.end() ? address : known->second;
}

}  // namespace geiger::symbolize
