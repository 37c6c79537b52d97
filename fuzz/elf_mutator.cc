#include "elf_mutator.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "mutations.h"

namespace geiger::fuzz {
namespace {

template <typename Layout>
bool load(const std::string& bytes, std::uint64_t at, Layout& into) {
  if (at > bytes.size() || bytes.size() - at < sizeof into) return false;
  std::memcpy(&into, bytes.data() + at, sizeof into);
  return true;
}

bool is_parsed(const std::string& name, std::uint32_t type, std::uint64_t flags) {
  if (type == SHT_NOBITS) return false;
  for (const char* start : {".eh_frame", ".debug_", ".zdebug_", ".note", ".gnu_debug"}) {
    if (name.starts_with(start)) return true;
  }
  return type == SHT_SYMTAB || type == SHT_DYNSYM || type == SHT_STRTAB || type == SHT_DYNAMIC ||
         (flags & SHF_COMPRESSED) != 0;
}

FileRange any_of(const std::vector<FileRange>& ranges, std::mt19937_64& random) {
  return ranges[random() % ranges.size()];
}

}  // namespace

SoundElf::SoundElf(std::string bytes) : bytes_(std::move(bytes)) {
  Elf64_Ehdr header{};
  if (!load(bytes_, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return;
  headers_ = {
      {0, sizeof header},
      {header.e_shoff, header.e_shoff + std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)},
      {header.e_phoff, header.e_phoff + std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)}};
  Elf64_Shdr names{};
  if (!load(bytes_, header.e_shoff + header.e_shstrndx * sizeof names, names)) return;
  for (std::uint32_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section{};
    if (!load(bytes_, header.e_shoff + i * sizeof section, section)) return;
    const std::string name =
        bytes_.c_str() + std::min<std::uint64_t>(names.sh_offset + section.sh_name, bytes_.size());
    const FileRange range{section.sh_offset, section.sh_offset + section.sh_size};
    if (name == ".text") code_ = {section.sh_addr, section.sh_addr + section.sh_size};
    if (name == ".eh_frame_hdr") unwind_ = range;
    const std::uint64_t gap = section.sh_offset - unwind_.end;
    if (name == ".eh_frame" && unwind_.end != 0 && gap < 64) unwind_.end = range.end;
    if (range.end > bytes_.size() || range.start >= range.end) continue;
    if (is_parsed(name, section.sh_type, section.sh_flags)) parsed_.push_back(range);
  }
  if (unwind_.end > bytes_.size()) unwind_ = {};
}

std::vector<Address> SoundElf::code_addresses(std::size_t count) const {
  std::vector<Address> addresses;
  const std::uint64_t step = std::max<std::uint64_t>((code_.end - code_.start) / (count + 1), 1);
  for (Address at = code_.start + 1; at < code_.end && addresses.size() < count; at += step) {
    addresses.push_back(at);
  }
  if (addresses.empty()) addresses.push_back(0x1001);
  return addresses;
}

std::string mutate(const SoundElf& sound, std::mt19937_64& random) {
  std::string bytes = sound.bytes();
  const bool is_known = !sound.parsed().empty();
  const FileRange part = is_known ? any_of(sound.parsed(), random) : FileRange{0, bytes.size()};
  const std::uint64_t at = part.start + random() % (part.end - part.start);
  const FileRange header = sound.headers().empty() ? part : any_of(sound.headers(), random);
  switch (random() % 8) {
    case 0:
      flip_bits(bytes, 0, bytes.size(), random);
      break;
    case 1:
    case 2:
      flip_bits(bytes, part.start, part.end, random);
      break;
    case 3:
      write_hostile_word(bytes, at, random);
      break;
    case 4:
      flip_bits(bytes, header.start, std::min<std::uint64_t>(header.end, bytes.size()), random);
      break;
    case 5:
      write_hostile_word(
          bytes, header.start + random() % std::max<std::uint64_t>(header.end - header.start, 1),
          random);
      break;
    case 6:
      copy_block(bytes, at, random);
      break;
    default:
      bytes.resize(random() % bytes.size());
      break;
  }
  return bytes;
}

}  // namespace geiger::fuzz
