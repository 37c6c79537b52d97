// The program headers of a loaded module.
#pragma once

#include <link.h>

#include <cstdint>

namespace geiger::unwind {

struct ProgramHeaders {
  const ElfW(Phdr) * begin;
  std::uint64_t count;
};

/// Headers in the first page at `start`, as every linker lays them out.
[[nodiscard]] ProgramHeaders headers_at(std::uint64_t start);

[[nodiscard]] bool is_executable(const link_map* map);

/// The kernel passes the address of the executable's headers, unless the program was started by
/// naming the loader: then they are the loader's.
[[nodiscard]] ProgramHeaders headers_of(const link_map& map);

/// The loadable segment that contains `address`, or null.
[[nodiscard]] const ElfW(Phdr) *
    find_segment(const link_map& map, const ProgramHeaders& headers, std::uint64_t address);

}  // namespace geiger::unwind
