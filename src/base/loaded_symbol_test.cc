// Modules as a loader would list them, with tables that a test made.
#include <elf.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/loader.h"

namespace geiger::base {
namespace {

std::uint32_t gnu_hash(const std::string& name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

struct Defined {
  std::string name;
  ElfW(Addr) value;
  unsigned char type = STT_FUNC;
  std::uint16_t section = 1;
  std::uint16_t version = 2;
};

/// A module that defines these, in one bucket. What is not listed in its dynamic section the
/// look-up has to do without.
class Module {
 public:
  explicit Module(const std::vector<Defined>& all) {
    symbols_.push_back({});
    versions_.push_back(0);
    gnu_hash_ = {1, 1, 1, 0, 0, 0, 1};  // One bucket, from symbol 1, one Bloom word.
    for (const Defined& one : all) {
      ElfW(Sym) symbol{};
      symbol.st_name = static_cast<std::uint32_t>(strings_.size());
      symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, one.type);
      symbol.st_shndx = one.section;
      symbol.st_value = one.value;
      symbols_.push_back(symbol);
      versions_.push_back(one.version);
      strings_ += one.name + '\0';
      gnu_hash_.push_back(gnu_hash(one.name) & ~1U);
    }
    gnu_hash_.back() |= 1;  // The chain ends.
    sysv_hash_ = {0, static_cast<std::uint32_t>(symbols_.size())};
  }

  Module& list(ElfW(Sxword) tag) {
    const void* tables[] = {symbols_.data(), strings_.data(), gnu_hash_.data(), sysv_hash_.data(),
                            versions_.data()};
    constexpr std::array kTags{DT_SYMTAB, DT_STRTAB, DT_GNU_HASH, DT_HASH, DT_VERSYM};
    for (std::size_t i = 0; i < kTags.size(); ++i) {
      if (kTags[i] == tag) add(tag, reinterpret_cast<ElfW(Addr)>(tables[i]));
    }
    return *this;
  }
  Module& list_all_but_sysv() {
    return list(DT_SYMTAB).list(DT_STRTAB).list(DT_GNU_HASH).list(DT_VERSYM);
  }
  Module& add(ElfW(Sxword) tag, ElfW(Addr) value) {
    ElfW(Dyn) entry{};
    entry.d_tag = tag;
    entry.d_un.d_ptr = value;
    dynamic_.push_back(entry);
    return *this;
  }
  Module& without_buckets() {
    gnu_hash_[0] = 0;
    return *this;
  }
  Module& with_empty_bucket() {
    gnu_hash_[6] = 0;
    return *this;
  }

  [[nodiscard]] std::uintptr_t find(const char* name) {
    add(DT_NULL, 0);
    link_map map{};
    map.l_ld = dynamic_.data();
    return reinterpret_cast<std::uintptr_t>(find_symbol(&map, name));
  }

 private:
  std::vector<ElfW(Sym)> symbols_;
  std::vector<std::uint16_t> versions_;
  std::string strings_ = std::string(1, '\0');
  std::vector<std::uint32_t> gnu_hash_, sysv_hash_;
  std::vector<ElfW(Dyn)> dynamic_;
};

const std::vector<Defined> kTwo = {{"first", 0x100}, {"second", 0x200}};

TEST(LoadedSymbol, IsFoundByEitherHash) {
  EXPECT_EQ(Module(kTwo).list_all_but_sysv().find("first"), 0x100U);
  EXPECT_EQ(Module(kTwo).list_all_but_sysv().find("second"), 0x200U);
  EXPECT_EQ(Module(kTwo).list_all_but_sysv().find("third"), 0U);
  EXPECT_EQ(Module(kTwo).list(DT_SYMTAB).list(DT_STRTAB).list(DT_HASH).find("second"), 0x200U);
  EXPECT_EQ(Module(kTwo).list(DT_SYMTAB).list(DT_STRTAB).list(DT_HASH).find("third"), 0U);
}

TEST(LoadedSymbol, NeedsItsTables) {
  EXPECT_EQ(Module(kTwo).list(DT_STRTAB).list(DT_GNU_HASH).find("first"), 0U);
  EXPECT_EQ(Module(kTwo).list(DT_SYMTAB).list(DT_GNU_HASH).find("first"), 0U);
  EXPECT_EQ(Module(kTwo).list(DT_SYMTAB).list(DT_STRTAB).find("first"), 0U);
  EXPECT_EQ(Module(kTwo).list(DT_SYMTAB).list(DT_STRTAB).list(DT_GNU_HASH).find("first"), 0x100U);
  EXPECT_EQ(Module(kTwo).add(DT_NEEDED, 1).list_all_but_sysv().find("first"), 0x100U);
  const link_map without_any{};
  EXPECT_EQ(find_symbol(&without_any, "first"), nullptr);
}

TEST(LoadedSymbol, IsNotFoundInEmptyTables) {
  EXPECT_EQ(Module(kTwo).without_buckets().list_all_but_sysv().find("first"), 0U);
  EXPECT_EQ(Module(kTwo).with_empty_bucket().list_all_but_sysv().find("first"), 0U);
}

TEST(LoadedSymbol, IsDefinedAndCanBeCalled) {
  const auto finds = [](const Defined& one) {
    return Module({one}).list_all_but_sysv().find(one.name.c_str()) != 0;
  };
  EXPECT_TRUE(finds({"f", 0x100}));
  EXPECT_TRUE(finds({"f", 0x100, STT_NOTYPE}));
  EXPECT_FALSE(finds({"f", 0x100, STT_OBJECT}));
  EXPECT_FALSE(finds({"f", 0x100, STT_FUNC, SHN_UNDEF}));
  EXPECT_FALSE(finds({"f", 0}));
  EXPECT_FALSE(finds({"f", 0x100, STT_FUNC, 1, 0x8002}));  // An old version.
}

// Names whose hashes are the same but for the bit that ends a chain.
TEST(LoadedSymbol, IsKnownByItsNameNotItsHash) {
  EXPECT_EQ(gnu_hash("ab") | 1, gnu_hash("bA") | 1);
  EXPECT_EQ(Module({{"ab", 0x100}, {"bA", 0x200}}).list_all_but_sysv().find("bA"), 0x200U);
}

void* chosen() { return reinterpret_cast<void*>(0x300); }

TEST(LoadedSymbol, MayChooseItsAddressItself) {
  const auto resolver = reinterpret_cast<ElfW(Addr)>(chosen);
  EXPECT_EQ(Module({{"f", resolver, STT_GNU_IFUNC}}).list_all_but_sysv().find("f"), 0x300U);
}

TEST(LoadedSymbol, IsTheLoaders) {
  int found = 0;
  for (const link_map* module = _r_debug.r_map; module != nullptr; module = module->l_next) {
    found += find_symbol(module, "getenv") == reinterpret_cast<void*>(&getenv) ? 1 : 0;
    EXPECT_EQ(find_symbol(module, "no_such_function_anywhere"), nullptr) << module->l_name;
  }
  EXPECT_GE(found, 1);
}

}  // namespace
}  // namespace geiger::base
