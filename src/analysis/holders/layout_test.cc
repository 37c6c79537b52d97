#include "analysis/holders/layout.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace geiger::holders {
namespace {

using testing::ElementsAre;

constexpr Address kStart = 0x7f0000000000;

/// A file whose variables end `bytes` after its first byte.
ModuleFiles module_of(Bytes bytes) {
  return ModuleFiles([bytes](const observe::Mapping&) {
    struct {
      Elf64_Ehdr header{};
      Elf64_Phdr segment{};
    } content;
    content.header.e_phentsize = sizeof content.segment;
    content.header.e_phnum = 1;
    content.header.e_phoff = sizeof content.header;
    content.segment.p_type = PT_LOAD;
    content.segment.p_memsz = bytes;
    base::UniqueFd file(::memfd_create("module", MFD_CLOEXEC));
    EXPECT_EQ(::write(file.get(), &content, sizeof content), ssize_t{sizeof content});
    return file;
  });
}

observe::Mapping mapping(Bytes start, Bytes end, const char* path) {
  observe::Mapping mapping;
  mapping.start = kStart + start;
  mapping.end = kStart + end;
  mapping.is_readable = mapping.is_writable = true;
  mapping.path = path;
  return mapping;
}

/// Where the mappings end, and which are the module's.
std::vector<std::pair<Bytes, bool>> ends(Bytes page_bytes) {
  Layout layout;
  layout.mappings = {mapping(0, 0x10000, "/lib/module.so"), mapping(0x10000, 0x80000, "")};
  ModuleFiles files = module_of(0x21230);
  find_modules(layout, files, page_bytes);
  std::vector<std::pair<Bytes, bool>> found;
  for (std::size_t i = 0; i < layout.mappings.size(); ++i) {
    found.emplace_back(layout.mappings[i].end - kStart, layout.modules[i] == 0);
  }
  return found;
}

TEST(FindModules, VariablesEndWithTheirLastPage) {
  using Of = std::pair<Bytes, bool>;
  EXPECT_THAT(ends(0x1000), ElementsAre(Of{0x10000, true}, Of{0x22000, true}, Of{0x80000, false}));
  EXPECT_THAT(ends(0x4000), ElementsAre(Of{0x10000, true}, Of{0x24000, true}, Of{0x80000, false}));
  EXPECT_THAT(ends(0x10000), ElementsAre(Of{0x10000, true}, Of{0x30000, true}, Of{0x80000, false}));
}

}  // namespace
}  // namespace geiger::holders
