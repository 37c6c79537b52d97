// The files that describe one module: finds and opens them, and sorts its symbol tables for many
// look-ups.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/symbolize/file.h"
#include "base/units.h"

namespace geiger::symbolize {

// Finds and opens the files that describe one module: its ELF file, its symbol table and its DWARF,
// wherever they are (the file itself, a split debug file by build id or debug link, a dwz file,
// MiniDebugInfo, a debuginfod server).

/// The result of looking for a module's files.
enum class FileState : std::uint8_t {
  kDebugInfo,    ///< Names, inlined frames and lines.
  kSymbolsOnly,  ///< The symbol table at best.
  kMissing,      ///< No such file, and no debug file with the build id.
  kChanged,      ///< Not the file that ran: it has another build id, or none and is newer.
  kUnreadable,   ///< Not an ELF program or library, or damaged.
};

struct SearchOptions {
  std::vector<std::string> debug_dirs;  ///< Absolute; holding `.build-id` and mirrored paths.
  FilesById kept_files;                 ///< That stand in for what is gone or has less to say.
  bool use_debuginfod = false;          ///< Ask servers for modules whose file is gone.
  bool read_dwarf = true;               ///< false: the symbol table only.
  /// CLOCK_REALTIME: files without a build id must not have changed since; 0 = whenever.
  Nanoseconds unchanged_since = 0;
};

class DebugFile {
 public:
  /// `build_id` in lower-case hex; empty accepts any file at `path` that is old enough.
  DebugFile(const std::string& path, const std::string& build_id, const SearchOptions& options);
  DebugFile(const DebugFile&) = delete;  // libdwfl holds pointers to members.
  DebugFile& operator=(const DebugFile&) = delete;

  [[nodiscard]] FileState file_state() const { return file_state_; }
  [[nodiscard]] const std::string& found_build_id() const { return found_build_id_; }
  /// The file that dwz moved a part of the debug information to, where it is missing; else "".
  [[nodiscard]] std::string missing_alternate() const;

  /// nullptr if the module could not be opened.
  [[nodiscard]] Dwfl_Module* module() const { return module_; }
  /// Added by libdwfl to the ELF vaddrs of the module.
  [[nodiscard]] Dwarf_Addr bias() const { return bias_; }
  /// nullptr if there is none. Valid as long as this object.
  [[nodiscard]] Dwarf* dwarf() const { return dwarf_; }
  /// Added to the addresses inside dwarf().
  [[nodiscard]] Dwarf_Addr dwarf_bias() const { return dwarf_bias_; }

 private:
  struct End {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
    void operator()(Elf* elf) const { elf_end(elf); }
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
  };

  FileState open(const std::string& path, const std::string& build_id, Nanoseconds unchanged_since);
  FileState open_by_build_id(const std::string& build_id, const SearchOptions& options);
  FileState report(const std::string& path);
  void find_dwarf();
  void unpack_dwarf();

  std::string search_path_;
  char* search_path_pointer_ = nullptr;
  Dwfl_Callbacks callbacks_{};
  std::unique_ptr<Dwfl, End> dwfl_;
  std::string unpacked_;  ///< The file whose sections we unpacked.
  std::unique_ptr<Elf, End> unpacked_elf_;
  std::unique_ptr<Dwarf, End> unpacked_dwarf_;
  Dwfl_Module* module_ = nullptr;
  Dwarf_Addr bias_ = 0;
  Dwarf* dwarf_ = nullptr;
  Dwarf_Addr dwarf_bias_ = 0;
  std::string found_build_id_;
  FileState file_state_;
};

/// The file of a module, or the kept one that has most to say of it.
[[nodiscard]] std::unique_ptr<const DebugFile> open_debug_file(const std::string& path,
                                                               const std::string& build_id,
                                                               const SearchOptions& options);

/// "/DIR/.build-id/ab/cdef.debug", or "" if `build_id` cannot name a file.
[[nodiscard]] std::string build_id_path(const std::string& directory, const std::string& build_id);

// The symbol tables of a module (.symtab or .dynsym, and MiniDebugInfo), sorted
// once for many look-ups.

struct ElfSymbol {
  Address start = 0;       ///< ELF vaddr.
  Address end = 0;         ///< Symbols without a size end where the next one starts.
  std::string_view name;   ///< As in the table, without a symbol version.
  std::uint32_t rank = 0;  ///< Of several names for one start the lowest is shown.
};

class ElfSymbols {
 public:
  ElfSymbols() = default;
  /// Names point into `file`, which must outlive this object.
  explicit ElfSymbols(const DebugFile& file);

  /// The innermost symbol that covers `address`, or nullptr.
  [[nodiscard]] const ElfSymbol* find(Address address) const;

 private:
  void add_symbols(const DebugFile& file);
  void close_open_ends();

  std::vector<ElfSymbol> symbols_;  ///< By start, then falling rank.
  std::vector<Address> furthest_;   ///< The largest end up to each symbol.
};

}  // namespace geiger::symbolize
