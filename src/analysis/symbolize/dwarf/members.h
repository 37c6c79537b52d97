// Members of variables, by DWARF: what a place inside of a structure is called.
#pragma once

#include <string>
#include <vector>

#include "analysis/symbolize/elf/debug_file.h"
#include "base/units.h"

namespace geiger::symbolize {

/// Below its variable's name: ".db[0].dict". Elements of larger arrays are "[*]". Containers of
/// the standard library have no members that a person would know.
struct Member {
  Address start = 0;  ///< ELF vaddr; of a thread-local variable its offset in the module's block.
  Bytes bytes = 0;
  std::string name;
};

/// In no order; those of several at one place are alike. Few and small where there is no DWARF, as
/// of a file that is crafted to have many.
struct Members {
  std::vector<Member> of_globals, of_thread_locals;
};
[[nodiscard]] Members members_of_variables(const DebugFile& file);

}  // namespace geiger::symbolize
