#include "foreign/elf_facts.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "foreign/open.h"

namespace geiger::foreign {
namespace {

constexpr Bytes kLargestTable = 64 * kMiB;

// Reads exactly `size` bytes, or nothing where the file is shorter.
std::optional<std::string> read_range(int fd, Bytes offset, Bytes size) {
  if (size > kLargestTable || offset > (Bytes{1} << 62)) return std::nullopt;
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const auto got = pread(fd, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

// A table of fixed-size entries, copied out so that alignment does not matter.
template <typename Entry>
std::vector<Entry> read_table(int fd, Bytes offset, Bytes size) {
  const auto bytes = read_range(fd, offset, size - size % sizeof(Entry));
  if (!bytes) return {};
  std::vector<Entry> entries(bytes->size() / sizeof(Entry));
  if (!entries.empty()) {
    std::memcpy(entries.data(), bytes->data(), entries.size() * sizeof(Entry));
  }
  return entries;
}

/// Cut where no name or path goes on: entries may share a table of 64 MiB without an end.
std::string string_at(const std::string& table, std::size_t offset) {
  constexpr std::size_t kLongest = 4096;
  if (offset >= table.size()) return {};
  const auto text = std::string_view(table).substr(offset, kLongest);
  return std::string(text.substr(0, text.find('\0')));
}

bool is_name_at(const std::string& table, std::size_t offset, const std::string& name) {
  return table.compare(offset, name.size() + 1, name.c_str(), name.size() + 1) == 0;
}

/// Takes what is known from notes: header, name and description, each padded to a word.
void read_notes(std::string_view notes, ElfFacts& facts) {
  constexpr std::string_view kOwn("geiger", sizeof "geiger"), kGnu("GNU", sizeof "GNU");
  constexpr std::size_t kLongestId = 64;
  constexpr std::string_view kGo{"Go\0\0", 4};
  Elf64_Nhdr note{};
  const auto take = [&notes](Bytes size) {
    const std::string_view taken = notes.substr(0, size);
    notes.remove_prefix(std::min<Bytes>(notes.size(), (size + 3) & ~Bytes{3}));
    return taken;
  };
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    take(sizeof note);
    const std::string_view name = take(note.n_namesz), description = take(note.n_descsz);
    if (name == kOwn) facts.has_runtime = true;
    if (name == kGo) facts.is_go = true;
    const bool is_id = name == kGnu && note.n_type == NT_GNU_BUILD_ID;
    if (is_id && description.size() <= kLongestId) facts.build_id = base::hex_of(description);
  }
}

void read_segments(int fd, const Elf64_Ehdr& header, ElfFacts& facts) {
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return;
  const auto size = Bytes{header.e_phnum} * sizeof(Elf64_Phdr);
  for (const auto& segment : read_table<Elf64_Phdr>(fd, header.e_phoff, size)) {
    if (segment.p_filesz > 4096) continue;
    if (segment.p_type != PT_INTERP && segment.p_type != PT_NOTE) continue;
    const auto text = read_range(fd, segment.p_offset, segment.p_filesz);
    if (!text) continue;
    if (segment.p_type == PT_INTERP) facts.interpreter = string_at(*text, 0);
    if (segment.p_type == PT_NOTE) read_notes(*text, facts);
  }
}

/// Programs have some hundred at most.
constexpr std::size_t kMostNeeded = 16384;

void read_needed(int fd, const Elf64_Shdr& section, const std::string& strings, ElfFacts& facts) {
  for (const auto& entry : read_table<Elf64_Dyn>(fd, section.sh_offset, section.sh_size)) {
    if (entry.d_tag == DT_NULL || facts.needed.size() == kMostNeeded) break;
    if (entry.d_tag == DT_NEEDED) facts.needed.push_back(string_at(strings, entry.d_un.d_val));
  }
}

void read_symbols(int fd, const Elf64_Shdr& section, const std::string& strings,
                  const std::vector<std::string>& wanted, ElfFacts& facts) {
  for (const auto& symbol : read_table<Elf64_Sym>(fd, section.sh_offset, section.sh_size)) {
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= strings.size()) continue;
    const auto found = std::find_if(wanted.begin(), wanted.end(), [&](const std::string& name) {
      return is_name_at(strings, symbol.st_name, name);
    });
    if (found != wanted.end()) facts.defined.push_back(*found);
  }
}

void read_dynamic_sections(int fd, const Elf64_Ehdr& header, const std::vector<std::string>& wanted,
                           ElfFacts& facts) {
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return;
  const auto size = Bytes{header.e_shnum} * sizeof(Elf64_Shdr);
  const auto sections = read_table<Elf64_Shdr>(fd, header.e_shoff, size);
  // There is one of each; a file that has thousands would be read for hours.
  for (const std::uint32_t type : {SHT_DYNAMIC, SHT_DYNSYM}) {
    const auto found = std::find_if(sections.begin(), sections.end(),
                                    [&](const auto& section) { return section.sh_type == type; });
    if (found == sections.end() || found->sh_link >= sections.size()) continue;
    const auto& section = *found;
    const bool is_dynamic = type == SHT_DYNAMIC;
    const auto& link = sections[section.sh_link];
    const auto strings = read_range(fd, link.sh_offset, link.sh_size);
    if (!strings) continue;
    if (is_dynamic) {
      read_needed(fd, section, *strings, facts);
    } else {
      read_symbols(fd, section, *strings, wanted, facts);
    }
  }
}

}  // namespace

ElfFacts read_elf_facts(const std::string& path, const std::vector<std::string>& wanted) {
  ElfFacts facts;
  const base::UniqueFd fd = open_regular(path, O_RDONLY);
  if (!fd.is_open()) return facts;
  // e_ident, e_type and e_machine lie alike in both classes.
  const auto start = read_range(fd.get(), 0, offsetof(Elf64_Ehdr, e_version));
  if (!start || start->compare(0, SELFMAG, ELFMAG) != 0) return facts;
  facts.is_elf = true;
  facts.is_64_bit = (*start)[EI_CLASS] == ELFCLASS64;
  std::memcpy(&facts.machine, start->data() + offsetof(Elf64_Ehdr, e_machine),
              sizeof facts.machine);
  const auto headers = read_table<Elf64_Ehdr>(fd.get(), 0, sizeof(Elf64_Ehdr));
  if (!facts.is_64_bit || headers.empty() || (*start)[EI_DATA] != ELFDATA2LSB) return facts;
  read_segments(fd.get(), headers[0], facts);
  read_dynamic_sections(fd.get(), headers[0], wanted, facts);
  return facts;
}

}  // namespace geiger::foreign
