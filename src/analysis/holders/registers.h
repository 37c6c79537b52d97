// The registers of a thread that does not run, and by which DWARF number they are known.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "analysis/observe/proc_files.h"
#include "analysis/symbolize/dwarf/caller_rules.h"
#include "base/units.h"

namespace geiger::holders {

/// Where the registers of a thread are among its words (struct elf_prstatus, user_regs_struct).
struct RegisterLayout {
  std::uint16_t machine;
  std::size_t words, stack_pointer, program_counter;
  std::optional<std::size_t> control_block;
  std::array<std::uint8_t, 32> dwarf;  ///< By DWARF's number: which word; 0xff: not among them.
  std::uint8_t dwarf_stack_pointer;
};

/// Null: not known.
[[nodiscard]] const RegisterLayout* register_layout(std::uint16_t machine);
/// Of the processor that this runs on.
[[nodiscard]] const RegisterLayout& own_register_layout();

/// Where a thread has halted, and its registers as far as they are known, by DWARF's numbers.
/// Two equal ones of a thread: it did not run in between.
struct Halt {
  Address stack_pointer = 0, program_counter = 0;
  std::uint64_t switches = 0;  ///< It had halted as often before; 0 where nothing runs.
  std::array<std::optional<std::uint64_t>, symbolize::kDwarfRegisters> registers;

  bool operator==(const Halt&) const = default;
};

/// Of a thread with all registers, `words`; nothing if there are too few.
[[nodiscard]] std::optional<Halt> halt_of(const RegisterLayout& layout,
                                          std::span<const std::uint64_t> words);

/// Of a thread that waits; nothing of one that runs.
[[nodiscard]] std::optional<Halt> halt_of(const observe::ProcessFiles& files, pid_t tid);

}  // namespace geiger::holders
