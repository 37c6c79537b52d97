// Headers that no linker writes, at the start of a page that a test made.
#include "runtime/unwind/modules.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>

#include <cstring>
#include <functional>
#include <vector>

namespace geiger::unwind {
namespace {

constexpr std::size_t kPage = 4096;

class Headers : public testing::Test {
 protected:
  void SetUp() override {
    page_ = static_cast<char*>(
        mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memcpy(elf().e_ident, ELFMAG, SELFMAG);
    elf().e_phoff = sizeof(ElfW(Ehdr));
    elf().e_phentsize = sizeof(ElfW(Phdr));
  }
  void TearDown() override { munmap(page_, kPage); }

  ElfW(Ehdr) & elf() { return *reinterpret_cast<ElfW(Ehdr)*>(page_); }
  void add(ElfW(Word) type, ElfW(Addr) address, ElfW(Xword) bytes) {
    auto* headers = reinterpret_cast<ElfW(Phdr)*>(page_ + elf().e_phoff);
    ElfW(Phdr)& header = headers[elf().e_phnum++];
    header = {};
    header.p_type = type;
    header.p_vaddr = address;
    header.p_memsz = bytes;
  }
  /// Size of the module with these headers at offset `at`; 0: no range.
  [[nodiscard]] std::uint64_t bytes_from(std::size_t at = 0) {
    link_map map{};
    map.l_addr = reinterpret_cast<ElfW(Addr)>(page_) + at;
    const AddressRange range = range_of(&map);
    return range.end - range.start;
  }

  char* page_ = nullptr;
};

TEST_F(Headers, TellTheRangeOfAllSegments) {
  add(PT_LOAD, 0x5000, 0x100);
  add(PT_LOAD, 0x1234, 0x10);
  add(PT_GNU_EH_FRAME, 0x5010, 0x10);
  add(PT_LOAD, 0x3000, 0x200);
  EXPECT_EQ(bytes_from(), 0x5100U - 0x1000U);
}

TEST_F(Headers, WithoutSegmentsTellNone) {
  EXPECT_EQ(bytes_from(), 0U);
  add(PT_NOTE, 0x1000, 0x100);
  EXPECT_EQ(bytes_from(), 0U);
}

TEST_F(Headers, ThatAreNoneTellNone) {
  add(PT_LOAD, 0, 0x1000);
  ASSERT_EQ(bytes_from(), 0x1000U);
  EXPECT_EQ(bytes_from(8), 0U);
  const std::vector<std::function<void(ElfW(Ehdr)&)>> damages = {
      [](ElfW(Ehdr) & elf) { elf.e_ident[0] = 'e'; },
      [](ElfW(Ehdr) & elf) { elf.e_phentsize = 32; },
      [](ElfW(Ehdr) & elf) { elf.e_phoff = kPage; },
      [](ElfW(Ehdr) & elf) { elf.e_phoff = 65; },
      [](ElfW(Ehdr) & elf) { elf.e_phnum = 73; },
  };
  const ElfW(Ehdr) good = elf();
  for (const auto& damage : damages) {
    damage(elf());
    EXPECT_EQ(bytes_from(), 0U);
    elf() = good;
  }
  link_map nowhere{};
  EXPECT_EQ(range_of(&nowhere).end, 0U);
}

// The kernel loads such a program; as pointers to its headers they would be misaligned.
TEST_F(Headers, ThatStandAtOddAddressesTellNone) {
  add(PT_LOAD, 0, 0x1000);
  ASSERT_EQ(bytes_from(), 0x1000U);
  std::memmove(page_ + elf().e_phoff + 4, page_ + elf().e_phoff, sizeof(ElfW(Phdr)));
  elf().e_phoff += 4;
  EXPECT_EQ(bytes_from(), 0U);
}

// ---------------------------------------------------------- without the loader ---

TEST(PermanentModules, AreKnownByTheirHeaders) {
  init();
  std::uint32_t found_count = 0;
  for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next) {
    const AddressRange range = range_of(map);
    FoundModule found;
    if (range.start == range.end) continue;
    EXPECT_TRUE(find_module(range.start, found)) << map->l_name;
    EXPECT_TRUE(find_module(range.end - 1, found)) << map->l_name;
    ++found_count;
  }
  EXPECT_GE(found_count, 3U);
}

TEST(PermanentModules, AreAllThereAreWhereTheLoaderHidesOthers) {
  init();
  use_loader_lookup_for_testing(false);
  FoundModule found;
  EXPECT_FALSE(find_module(0x10, found));
  EXPECT_FALSE(find_module(~std::uint64_t{0} - 4096, found));
  EXPECT_FALSE(is_still(1, 0x10));
  use_loader_lookup_for_testing(true);
  EXPECT_FALSE(find_module(0x10, found));
  init_late();  // Too late to change anything.
  EXPECT_GT(modules_known(), 0U);
}

}  // namespace
}  // namespace geiger::unwind
