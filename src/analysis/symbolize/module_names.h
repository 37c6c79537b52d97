// Symbolizes the addresses of one module. The libraries that read its ELF and DWARF were not made
// for hostile files, so callers that do not trust the file do this in another process (worker.h).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "analysis/symbolize/elf/debug_file.h"
#include "analysis/symbolize/symbol_set.h"
#include "base/units.h"

namespace geiger::symbolize {

struct ModuleJob {
  std::string path;
  std::string build_id;  ///< Lower-case hex; empty = any file at `path` that is old enough.
  /// ELF vaddrs of return addresses, ascending, distinct, not 0.
  std::vector<Address> addresses;
  std::string file = {};  ///< By which we open it; empty: `path`.

  [[nodiscard]] const std::string& opened() const { return file.empty() ? path : file; }
};

struct ModuleAnswer {
  FileState file_state = FileState::kUnreadable;
  std::string found_build_id;  ///< Of the file at the path; empty = none or no file.
  std::string missing;         ///< A file that debug information refers to and is not there.
  SymbolSet names;             ///< One module; addresses without a name are left out.
};

/// `progress(done)` is called now and then with the addresses that are done.
[[nodiscard]] ModuleAnswer symbolize_module(const ModuleJob& job, const SearchOptions& options,
                                            const std::function<void(std::size_t)>& progress);

}  // namespace geiger::symbolize
