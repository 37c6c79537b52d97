// The files of a process's programs and libraries: their headers and symbols.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/observe/proc_files.h"
#include "analysis/symbolize/dwarf/caller_rules.h"
#include "analysis/symbolize/elf/data_symbols.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "foreign/process_root.h"

namespace geiger::holders {

/// Of a module's program headers; all 0 where they cannot be read.
struct ModuleHeaders {
  Address first_vaddr = 0;  ///< Of its first byte.
  Bytes bytes = 0;          ///< Up to the end of its variables. Anonymous memory that others mapped
                            ///< may follow in the same mapping.
  Bytes thread_locals = 0;  ///< What its variables take in front of a control block.
};

/// They are read from the files, as their pages need not be in memory; each once. A file that is
/// not the mapped one any more is left alone.
class ModuleFiles {
 public:
  /// Files are opened where process `pid` sees them, if it may read them.
  explicit ModuleFiles(pid_t pid) : root_(foreign::ProcessRoot::open(pid)) {}
  /// `open` opens the file of a mapping, by its path.
  explicit ModuleFiles(std::function<base::UniqueFd(const observe::Mapping&)> open)
      : open_(std::move(open)) {}

  /// By ELF vaddr; nothing: looked up without success.
  template <class Value>
  using ByAddress = std::map<Address, std::optional<Value>>;

  // `mapping` is any of the module's.

  [[nodiscard]] const ModuleHeaders& headers(const observe::Mapping& mapping);
  [[nodiscard]] const symbolize::DataSymbols& symbols(const observe::Mapping& mapping);
  /// What follows their names where a member is meant.
  [[nodiscard]] const symbolize::DataSymbols& members(const observe::Mapping& mapping);
  /// What is added to the ELF vaddrs of the module that begins with `first`.
  [[nodiscard]] Address bias(const observe::Mapping& first) {
    return first.start - headers(first).first_vaddr;
  }
  /// Those that were asked for so far, `addresses` among them.
  [[nodiscard]] const ByAddress<symbolize::CallerRules>& rules(
      const observe::Mapping& mapping, const std::vector<Address>& addresses);
  /// Likewise, of addresses that calls return to.
  [[nodiscard]] const ByAddress<symbolize::FunctionPlace>& functions(
      const observe::Mapping& mapping, const std::vector<Address>& addresses);
  /// The constant at an address of the mapping; 0 if it cannot be read.
  [[nodiscard]] std::uint32_t constant(const observe::Mapping& mapping, Address address) const;

 private:
  /// Path and inode.
  using Key = std::pair<std::string, std::uint64_t>;

  [[nodiscard]] base::UniqueFd open(const observe::Mapping& mapping) const;
  template <class Read>
  [[nodiscard]] auto read_file(const observe::Mapping& mapping, const Read& read) const
      -> decltype(read(std::string()));
  template <class Value, class Read>
  const ByAddress<Value>& look_up(std::map<Key, ByAddress<Value>>& known,
                                  const observe::Mapping& mapping,
                                  const std::vector<Address>& addresses, const Read& read);

  std::optional<foreign::ProcessRoot> root_;
  std::function<base::UniqueFd(const observe::Mapping&)> open_;
  std::map<Key, ModuleHeaders> headers_;
  std::map<Key, symbolize::DataSymbols> symbols_, members_;
  std::map<Key, ByAddress<symbolize::CallerRules>> rules_;
  std::map<Key, ByAddress<symbolize::FunctionPlace>> functions_;
};

}  // namespace geiger::holders
