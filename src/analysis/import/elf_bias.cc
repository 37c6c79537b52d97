#include "analysis/import/elf_bias.h"

#include <elf.h>

#include <cstring>
#include <span>

#include "analysis/ingest/input_file.h"

namespace geiger::imports {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kMostHeaders = 1024;

template <typename Value>
bool read_value(const ingest::InputFile& file, std::uint64_t offset, Value& value) {
  return file.read_at(offset, std::as_writable_bytes(std::span(&value, 1))) == sizeof value;
}

bool is_elf64(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_phentsize == sizeof(Elf64_Phdr) &&
         header.e_phnum <= kMostHeaders;
}

/// Whether the segment's pages begin at or before this byte of the file, and hold it.
bool holds(const Elf64_Phdr& segment, std::uint64_t offset) {
  const std::uint64_t first = segment.p_offset / kPage * kPage;
  return segment.p_type == PT_LOAD && first <= offset &&
         offset < segment.p_offset + segment.p_filesz;
}

}  // namespace

Address bias_of_mapping(const std::string& path, Address start, std::uint64_t offset) {
  const Address plain = start - offset;
  ingest::InputFile file;
  Elf64_Ehdr header{};
  if (path.empty() || !file.open(path).has_value() || !read_value(file, 0, header) ||
      !is_elf64(header)) {
    return plain;
  }
  for (std::uint32_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!read_value(file, header.e_phoff + i * sizeof segment, segment)) return plain;
    if (holds(segment, offset)) return plain - (segment.p_vaddr - segment.p_offset);
  }
  return plain;
}

}  // namespace geiger::imports
