#include "base/loaded_symbol.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace geiger::base {
namespace {

extern "C" void* resolve_to_seven() { return reinterpret_cast<void*>(7); }

/// A module in memory as the loader leaves it, or as one that the loader did not load.
class FakeModule {
 public:
  FakeModule() { add("", SHN_UNDEF, STT_NOTYPE, 0); }

  void add(const char* name, std::uint16_t section, unsigned type, std::uintptr_t value,
           std::uint16_t version = 1) {
    symbols_.push_back({.st_name = static_cast<std::uint32_t>(strings_.size()),
                        .st_info = static_cast<unsigned char>(type),
                        .st_other = 0,
                        .st_shndx = section,
                        .st_value = value,
                        .st_size = 0});
    strings_ += std::string(name) + '\0';
    versions_.push_back(version);
  }

  /// The old table: its second word counts the symbols.
  void hash_as_sysv() {
    words_ = {1, static_cast<std::uint32_t>(symbols_.size())};
    table_ = DT_HASH;
  }
  /// One bucket for all symbols from `first` on; `buckets` = 0: a table of nothing.
  void hash_as_gnu(std::uint32_t first, std::uint32_t buckets = 1) {
    words_ = {buckets, first, 1, 0, 0, 0};
    table_ = DT_GNU_HASH;
    if (buckets == 0) return;
    words_.push_back(first);
    for (std::size_t i = first; i < symbols_.size(); ++i) {
      const bool is_last = i + 1 == symbols_.size();
      words_.push_back((hash_of(strings_.c_str() + symbols_[i].st_name) & ~1U) | (is_last ? 1 : 0));
    }
  }
  /// No chain at all in the one bucket.
  void empty_bucket() { words_[6] = 0; }
  void without_versions() { has_versions_ = false; }
  void without(std::int64_t tag) { left_out_ = tag; }

  void* find(const char* name) {
    dynamic_.clear();
    const auto entry = [&](std::int64_t tag, const void* place) {
      if (tag == left_out_) return;
      dynamic_.push_back(
          {.d_tag = tag, .d_un = {.d_ptr = reinterpret_cast<std::uintptr_t>(place)}});
    };
    entry(DT_SONAME, nullptr);
    entry(DT_SYMTAB, symbols_.data());
    entry(DT_STRTAB, strings_.data());
    if (has_versions_) entry(DT_VERSYM, versions_.data());
    if (table_ != 0) entry(table_, words_.data());
    dynamic_.push_back({.d_tag = DT_NULL, .d_un = {}});
    link_map module{};
    module.l_ld = dynamic_.data();
    return find_symbol(&module, name);
  }

 private:
  static std::uint32_t hash_of(const char* name) {
    std::uint32_t hash = 5381;
    for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
    return hash;
  }

  std::vector<ElfW(Sym)> symbols_;
  std::string strings_;
  std::vector<std::uint16_t> versions_;
  std::vector<std::uint32_t> words_;
  std::vector<ElfW(Dyn)> dynamic_;
  std::int64_t table_ = 0, left_out_ = DT_NULL;
  bool has_versions_ = true;
};

void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

/// What one can call as `name`, among what looks like it.
FakeModule many_of_one_name() {
  FakeModule module;
  module.add("asked", SHN_UNDEF, STT_FUNC, 0x10);      // Imported.
  module.add("asked", 1, STT_FUNC, 0);                 // Of no address.
  module.add("asked", 1, STT_OBJECT, 0x20);            // Data.
  module.add("asked", 1, STT_FUNC, 0x30, 0x8000 | 2);  // An old version.
  module.add("other", 1, STT_FUNC, 0x40);
  module.add("asked", 1, STT_FUNC, 0x50);
  module.add("untyped", 1, STT_NOTYPE, 0x60);
  module.add("indirect", 1, STT_GNU_IFUNC, reinterpret_cast<std::uintptr_t>(&resolve_to_seven));
  return module;
}

TEST(FindSymbol, TakesTheDefaultVersionOfWhatCanBeCalled) {
  const auto expect_found = [](FakeModule& module) {
    EXPECT_EQ(module.find("asked"), at(0x50));
    EXPECT_EQ(module.find("other"), at(0x40));
    EXPECT_EQ(module.find("untyped"), at(0x60));
    EXPECT_EQ(module.find("indirect"), at(7)) << "the resolver's answer";
    EXPECT_EQ(module.find("missing"), nullptr);
    EXPECT_EQ(module.find(""), nullptr);
  };
  FakeModule module = many_of_one_name();
  module.hash_as_sysv();
  expect_found(module);
  module.hash_as_gnu(1);
  expect_found(module);
  module.without_versions();
  EXPECT_EQ(module.find("asked"), at(0x30)) << "without versions the first counts";
}

TEST(FindSymbol, FindsNothingWhereTablesAreMissingOrEmpty) {
  FakeModule module = many_of_one_name();
  EXPECT_EQ(module.find("asked"), nullptr) << "no table";
  module.hash_as_gnu(1, 0);
  EXPECT_EQ(module.find("asked"), nullptr) << "no bucket";
  module.hash_as_gnu(1);
  module.empty_bucket();
  EXPECT_EQ(module.find("asked"), nullptr) << "an empty bucket";
  module.hash_as_gnu(1);
  module.without(DT_SYMTAB);
  EXPECT_EQ(module.find("asked"), nullptr);
  module.without(DT_STRTAB);
  EXPECT_EQ(module.find("asked"), nullptr);
  const link_map nothing{};
  EXPECT_EQ(find_symbol(&nothing, "asked"), nullptr) << "no dynamic section";
}

TEST(FindSymbol, AgreesWithTheLoader) {
  int found = 0;
  for (const link_map* module = _r_debug.r_map; module != nullptr; module = module->l_next) {
    found += find_symbol(module, "getenv") == reinterpret_cast<void*>(&getenv) ? 1 : 0;
    EXPECT_EQ(find_symbol(module, "no_such_function_anywhere"), nullptr) << module->l_name;
  }
  EXPECT_GE(found, 1);
}

}  // namespace
}  // namespace geiger::base
