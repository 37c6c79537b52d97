#include "analysis/holders/layout.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text.h"

namespace geiger::holders {

ModuleHeaders headers_at(Memory& memory, Address start) {
  Elf64_Ehdr header{};
  const Piece piece{start, sizeof header};
  memory.read({&piece, 1}, reinterpret_cast<std::byte*>(&header));
  constexpr std::size_t kMost = 64;
  std::array<Elf64_Phdr, kMost> segments{};
  ModuleHeaders found;
  Address end = 0;
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMost) return found;
  const Piece table{start + header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)};
  memory.read({&table, 1}, reinterpret_cast<std::byte*>(segments.data()));
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const Elf64_Phdr& segment = segments[i];
    if (segment.p_type == PT_LOAD && segment.p_offset == 0) found.first_vaddr = segment.p_vaddr;
    if (segment.p_type == PT_LOAD) end = std::max(end, segment.p_vaddr + segment.p_memsz);
    if (segment.p_type != PT_TLS) continue;
    const Bytes alignment = std::max<Bytes>(segment.p_align, 1);
    found.thread_locals = (segment.p_memsz + alignment - 1) / alignment * alignment;
  }
  found.bytes = end - std::min(end, found.first_vaddr);
  return found;
}

void leave_out_modules(Layout& layout, Memory& memory, std::string_view name) {
  for (const observe::Mapping& mapping : layout.mappings) {
    const bool is_one = !name.empty() && mapping.offset == 0 && !mapping.is_shared &&
                        base::file_name_of(mapping.path).starts_with(name);
    if (!is_one) continue;
    const Bytes bytes =
        std::max(headers_at(memory, mapping.start).bytes, mapping.end - mapping.start);
    layout.leave_out({mapping.start, mapping.start + bytes});
  }
}

void settle(std::vector<Span>& spans) {
  std::erase_if(spans, [](const Span& span) { return span.start >= span.end; });
  std::ranges::sort(spans, {}, &Span::start);
  std::vector<Span> joined;
  for (const Span& span : spans) {
    if (!joined.empty() && span.start <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, span.end);
    } else {
      joined.push_back(span);
    }
  }
  spans = std::move(joined);
}

}  // namespace geiger::holders
