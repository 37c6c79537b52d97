// Every symbol of the libraries and programs that are installed here, by what must hold of
// any name; the function's own name is asked of LLVM's demangler.
#include <fcntl.h>
#include <gelf.h>
#include <gtest/gtest.h>
#include <llvm/Demangle/Demangle.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>

#include "analysis/naming/display_name.h"
#include "analysis/symbolize/demangle.h"

namespace geiger::symbolize {
namespace {

namespace fs = std::filesystem;

bool is_function(const GElf_Sym& symbol) {
  return GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
}

/// Functions of the dynamic and of the full symbol table.
void add_symbols(const fs::path& path, std::set<std::string>& out) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  const std::unique_ptr<Elf, decltype(&elf_end)> elf(elf_begin(descriptor, ELF_C_READ, nullptr),
                                                     &elf_end);
  for (Elf_Scn* section = elf_nextscn(elf.get(), nullptr); section != nullptr;
       section = elf_nextscn(elf.get(), section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB) continue;
    Elf_Data* const data = elf_getdata(section, nullptr);
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int i = 0; i < count; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, i, &symbol) == nullptr || !is_function(symbol)) continue;
      const char* const name = elf_strptr(elf.get(), header.sh_link, symbol.st_name);
      if (name != nullptr && is_mangled(name)) out.insert(name);
    }
  }
  close(descriptor);
}

/// "resize" of _ZNSt6vectorIiSaIiEE6resizeEm; empty where there is none.
std::string own_name(const std::string& mangled) {
  llvm::ItaniumPartialDemangler demangler;
  if (demangler.partialDemangle(mangled.c_str()) || !demangler.isFunction()) return {};
  std::size_t size = 0;
  char* const text = demangler.getFunctionBaseName(nullptr, &size);
  const std::string name = text != nullptr ? text : "";
  std::free(text);
  return name.substr(0, name.find("[abi:"));
}

std::ptrdiff_t count_of(std::string_view text, char c) { return std::ranges::count(text, c); }

bool is_balanced(std::string_view text) {
  return count_of(text, '(') == count_of(text, ')') && count_of(text, '[') == count_of(text, ']') &&
         count_of(text, '{') == count_of(text, '}');
}

/// The component of a lambda is what it is within.
bool is_lambda(std::string_view display) {
  return display.ends_with("{lambda}") || display.ends_with("{closure}");
}

/// Streams and strings are shown by the names of their typedefs, constructors too; what initializes
/// globals is "{static init}".
bool is_renamed(std::string_view own) {
  return own.starts_with("basic_") || own.starts_with("~basic_") || own.starts_with("operator ") ||
         own == "__static_initialization_and_destruction_0";
}

/// A constructor taken over from a base, which names its function; the demangler's own name is the
/// derived class's.
bool is_inherited(std::string_view mangled) {
  return mangled.find("CI1") != std::string_view::npos ||
         mangled.find("CI2") != std::string_view::npos;
}

void check(const std::string& mangled) {
  const std::string demangled = demangle(mangled);
  const std::string display = naming::display_name(demangled);
  ASSERT_FALSE(display.empty()) << demangled;
  EXPECT_EQ(display.find("std::__"), std::string::npos) << demangled << "\n" << display;
  EXPECT_EQ(display.find("[abi:"), std::string::npos) << demangled << "\n" << display;
  EXPECT_TRUE(!is_balanced(demangled) || is_balanced(display)) << demangled << "\n" << display;
  // The type that a conversion is to may end like parameters.
  const bool is_conversion = display.find("operator ") != std::string::npos;
  EXPECT_TRUE(is_conversion || naming::display_name(display) == display) << display;
  const std::string own = own_name(mangled);
  const bool has_own =
      !own.empty() && !is_renamed(own) && !is_lambda(display) && !is_inherited(mangled);
  if (has_own) {
    EXPECT_NE(display.find(own), std::string::npos) << demangled << "\n" << display;
  }
  for (const std::size_t columns : {12U, 24U, 36U, 60U}) {
    const std::string fitted = naming::fit_name(display, columns);
    EXPECT_LE(naming::columns_of(fitted), columns) << display;
    if (!has_own || naming::columns_of(own) > columns) continue;
    EXPECT_NE(fitted.find(own), std::string::npos) << demangled << "\n" << fitted;
  }
}

TEST(DisplayNames, KeepTheFunctionsOwnName) {
  elf_version(EV_CURRENT);
  const fs::path libraries = fs::path(GEIGER_LIBRARY_DIR);
  std::set<std::string> symbols;
  for (const char* name :
       {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1", "libLLVM-14.so.1", "libLLVM-15.so.1",
        "libclang-cpp.so.14", "libQt5Core.so.5", "libQt5Widgets.so.5", "librsvg-2.so.2",
        "libabsl_strings.so.20220623", "libabsl_flags_parse.so.20220623"}) {
    add_symbols(libraries / name, symbols);
  }
  add_symbols("/usr/bin/node", symbols);
  add_symbols("/proc/self/exe", symbols);
  EXPECT_GT(symbols.size(), 1000U);
  for (const std::string& symbol : symbols) {
    check(symbol);
    if (HasFailure()) break;
  }
  RecordProperty("symbols", static_cast<int>(symbols.size()));
}

/// Symbols of programs and libraries as their compilers wrote them, and how they read.
TEST(DisplayNames, OfChosenSymbols) {
  std::ifstream table(GEIGER_SOURCE_DIR "/tests/vectors/display_names.tsv");
  std::size_t rows = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos) << line;
    EXPECT_EQ(naming::display_name(demangle(line.substr(0, tab))), line.substr(tab + 1));
    ++rows;
  }
  EXPECT_GT(rows, 300U);
}

}  // namespace
}  // namespace geiger::symbolize
