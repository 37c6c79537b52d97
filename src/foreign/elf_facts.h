// Facts of an executable file that decide how it will be loaded, and its build id. Read without a
// library, as the file may be anything.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

namespace geiger::foreign {

/// And what it can run besides, in 32 bits.
#if defined(__x86_64__)
inline constexpr std::uint16_t kOwnMachine = EM_X86_64;
inline constexpr std::uint16_t kNarrowMachine = EM_386;
#elif defined(__aarch64__)
inline constexpr std::uint16_t kOwnMachine = EM_AARCH64;
inline constexpr std::uint16_t kNarrowMachine = EM_ARM;
#else
#error "state the e_machine of this processor"
#endif

/// Facts read from an ELF file's headers and dynamic symbol table.
struct ElfFacts {
  bool is_elf = false;
  bool is_64_bit = false;
  std::uint16_t machine = 0;         ///< e_machine.
  std::string interpreter;           ///< Empty: static, or not an ELF program.
  std::vector<std::string> needed;   ///< DT_NEEDED names.
  std::vector<std::string> defined;  ///< The symbols of `wanted` that the file defines.
  bool is_go = false;                ///< Go's linker made it.
  bool has_runtime = false;          ///< It was linked with libgeiger-static.a.
  std::string build_id;              ///< Hexadecimal; empty: none.
};

/// Reads the facts of `path`; symbols other than `wanted` are not reported. A
/// file that is cut, foreign or malformed yields what could be read. Reads at
/// most 64 MiB of any one table.
[[nodiscard]] ElfFacts read_elf_facts(const std::string& path,
                                      const std::vector<std::string>& wanted);

}  // namespace geiger::foreign
