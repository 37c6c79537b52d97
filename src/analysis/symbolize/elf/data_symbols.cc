#include "analysis/symbolize/elf/data_symbols.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "analysis/symbolize/confined.h"
#include "analysis/symbolize/demangle.h"
#include "analysis/symbolize/dwarf/members.h"
#include "analysis/symbolize/elf/debug_file.h"
#include "analysis/symbolize/module_names.h"

namespace geiger::symbolize {

namespace {

/// More of one module are not names that a person gave.
constexpr std::size_t kMostSymbols = 1'000'000;

void sort_out(std::vector<DataSymbol>& symbols) {
  std::ranges::sort(symbols, [](const DataSymbol& a, const DataSymbol& b) {
    if (a.start != b.start) return a.start < b.start;
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });
  const auto is_same = [](const DataSymbol& a, const DataSymbol& b) { return a.start == b.start; };
  symbols.erase(std::unique(symbols.begin(), symbols.end(), is_same), symbols.end());
}

DataSymbols read_symbols(const DebugFile& file) {
  DataSymbols found;
  const int count = file.module() == nullptr ? 0 : ::dwfl_module_getsymtab(file.module());
  for (int i = 1; i < count && found.globals.size() < kMostSymbols; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* name =
        ::dwfl_module_getsym_info(file.module(), i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name == nullptr || *name == '\0' || symbol.st_size == 0) continue;
    if (symbol.st_shndx == SHN_UNDEF) continue;
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (type == STT_TLS) {
      found.thread_locals.push_back({symbol.st_value, symbol.st_size, name});
    } else if (type == STT_OBJECT || type == STT_COMMON) {
      found.globals.push_back({address - file.bias(), symbol.st_size, name});
    }
  }
  sort_out(found.globals);
  sort_out(found.thread_locals);
  return found;
}

// They travel as names of addresses: the line of a frame is the size of its variable.

void put(const std::vector<DataSymbol>& symbols, SymbolSet& set) {
  ModuleNames& module = set.modules.emplace_back();
  for (const DataSymbol& symbol : symbols) {
    const auto index = static_cast<std::uint32_t>(set.frames.size());
    set.strings.push_back(symbol.name);
    const auto bytes = static_cast<std::uint32_t>(std::min<Bytes>(symbol.bytes, UINT32_MAX));
    set.frames.push_back({static_cast<std::uint32_t>(set.strings.size() - 1), 0, 0, bytes});
    module.addresses.push_back({symbol.start, {index}});
  }
}

std::vector<DataSymbol> get(const SymbolSet& set, std::size_t module) {
  std::vector<DataSymbol> symbols;
  if (module >= set.modules.size()) return symbols;
  for (const NamedAddress& named : set.modules[module].addresses) {
    if (named.frames.empty()) continue;
    const NamedFrame& frame = set.frames[named.frames.front()];
    symbols.push_back({named.address, frame.line, demangle(set.strings[frame.function])});
  }
  return symbols;
}

/// What `read` finds in the files of a module. Empty if they are missing, or cannot be read.
DataSymbols read_confined(const std::string& path, bool reads_dwarf,
                          const std::function<DataSymbols(const DebugFile&)>& read) {
  const auto work = [&](const ModuleJob& job, const SearchOptions& options) {
    const auto file = open_debug_file(job.path, job.build_id, options);
    const DataSymbols found = read(*file);
    ModuleAnswer answer{file->file_state(), "", {}, {}};
    answer.names.strings.emplace_back();  // For what frames do not have.
    put(found.globals, answer.names);
    put(found.thread_locals, answer.names);
    return answer;
  };
  const auto answer = ask_confined({path, "", {}}, kMostSymbols / 10, reads_dwarf, work);
  if (!answer) return {};
  return {get(answer->names, 0), get(answer->names, 1)};
}

}  // namespace

DataSymbols data_symbols(const std::string& path) {
  return read_confined(path, false, [](const DebugFile& file) { return read_symbols(file); });
}

DataSymbols data_members(const std::string& path) {
  return read_confined(path, true, [](const DebugFile& file) {
    const auto as_symbols = [](const std::vector<Member>& members) {
      std::vector<DataSymbol> symbols;
      for (const Member& member : members) {
        symbols.push_back({member.start, member.bytes, member.name});
      }
      sort_out(symbols);
      return symbols;
    };
    const Members found = members_of_variables(file);
    return DataSymbols{as_symbols(found.of_globals), as_symbols(found.of_thread_locals)};
  });
}

const DataSymbol* find_symbol(const std::vector<DataSymbol>& symbols, Address address) {
  const auto after = std::ranges::upper_bound(symbols, address, {}, &DataSymbol::start);
  // A member may have a name of its own inside of a larger variable.
  constexpr int kMostInside = 16;
  auto at = after;
  for (int i = 0; i < kMostInside && at != symbols.begin(); ++i) {
    --at;
    if (address - at->start < at->bytes) return &*at;
  }
  return nullptr;
}

}  // namespace geiger::symbolize
