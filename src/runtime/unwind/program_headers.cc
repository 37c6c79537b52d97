#include "runtime/unwind/program_headers.h"

#include <elf.h>
#include <sys/auxv.h>

#include <cstring>

#include "base/loader.h"

namespace geiger::unwind {
namespace {

constexpr std::uint64_t kFirstPage = 4096;

bool belong_to(const ProgramHeaders& headers, const link_map& map) {
  for (std::uint64_t i = 0; i < headers.count; ++i) {
    const ElfW(Phdr)& segment = headers.begin[i];
    if (segment.p_type != PT_DYNAMIC) continue;
    return map.l_addr + segment.p_vaddr == reinterpret_cast<std::uint64_t>(map.l_ld);
  }
  return false;
}

}  // namespace

ProgramHeaders headers_at(std::uint64_t start) {
  if (start == 0 || start % kFirstPage != 0) return {nullptr, 0};
  ElfW(Ehdr) elf;
  std::memcpy(&elf, reinterpret_cast<const void*>(start), sizeof elf);
  const bool is_usable = std::memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 &&
                         elf.e_phentsize == sizeof(ElfW(Phdr)) && elf.e_phoff < kFirstPage &&
                         elf.e_phoff % 8 == 0 &&
                         elf.e_phnum <= (kFirstPage - elf.e_phoff) / sizeof(ElfW(Phdr));
  if (!is_usable) return {nullptr, 0};
  return {reinterpret_cast<const ElfW(Phdr)*>(start + elf.e_phoff), elf.e_phnum};
}

bool is_executable(const link_map* map) { return map == base::first_module(); }

ProgramHeaders headers_of(const link_map& map) {
  if (is_executable(&map)) {
    const ProgramHeaders told = {reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR)),
                                 getauxval(AT_PHNUM)};
    // A static program has no other module, and may have no dynamic section.
    if (map.l_ld == nullptr || belong_to(told, map)) return told;
  }
  return headers_at(map.l_addr);
}

const ElfW(Phdr) *
    find_segment(const link_map& map, const ProgramHeaders& headers, std::uint64_t address) {
  for (std::uint64_t i = 0; i < headers.count; ++i) {
    const ElfW(Phdr)& segment = headers.begin[i];
    const std::uint64_t begin = map.l_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address - begin < segment.p_memsz) return &segment;
  }
  return nullptr;
}

}  // namespace geiger::unwind
