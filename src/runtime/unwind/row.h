// One row of the unwind table: how the frame at one pc finds its caller.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/unwind/cursor.h"
#include "runtime/unwind/machine.h"

namespace geiger::unwind {

namespace dwarf {
/// Not registers: the frame's CFA, and no base at all.
inline constexpr std::uint8_t kCfa = 0xfe;
inline constexpr std::uint8_t kNoBase = 0xff;
}  // namespace dwarf

/// The stack pointer has no slot: in the caller it is the CFA.
inline constexpr std::size_t kSlots = static_cast<std::size_t>(Slot::kCount);

/// base + offset, or [base + offset] + added when `is_loaded`.
struct Term {
  std::uint8_t base;
  bool is_loaded;
  std::int64_t offset;
  std::int64_t added;
};

/// The caller's value of one register.
struct Place {
  enum class Kind : std::uint8_t {
    kSame,         ///< As in this frame.
    kUndefined,    ///< Lost; for the return address: there is no caller.
    kAt,           ///< In memory at base + offset.
    kIs,           ///< base + offset itself.
    kUnsupported,  ///< A rule that no known producer emits for a register we need.
  };
  Kind kind;
  std::uint8_t base;
  std::int32_t offset;
};

/// All zero: every register as in this frame, and a CFA that no frame has (register 0).
struct Row {
  Term cfa;
  Place places[kSlots];

  [[nodiscard]] const Place& operator[](Slot slot) const {
    return places[static_cast<std::size_t>(slot)];
  }
  [[nodiscard]] Place& operator[](Slot slot) { return places[static_cast<std::size_t>(slot)]; }
};

/// Parameters in a CIE of the programs that refer to it.
struct ProgramTraits {
  std::uint64_t code_alignment = 0;
  std::int64_t data_alignment = 0;
  std::uint8_t pointer_encoding = kBaseNone;
};

/// Runs call frame instructions. First the CIE's, then the FDE's.
/// Bounded by the length of the programs. Threads: a value of its owner.
class RowProgram {
 public:
  // cppcheck-suppress uninitMemberVar  // See saved_.
  RowProgram(const ProgramTraits& traits, std::uint64_t begin, std::uint64_t pc)
      : traits_(traits), location_(begin), pc_(pc) {}

  /// False: malformed or unknown instruction.
  [[nodiscard]] bool run_initial(const Cursor& code);
  [[nodiscard]] bool run(Cursor code);
  [[nodiscard]] const Row& row() const { return row_; }

 private:
  // Producers nest these once or twice; a deeper program gets no row.
  static constexpr std::size_t kMaxSaved = 6;

  bool execute_extended(Cursor& code, std::uint8_t opcode);
  bool define_cfa(Cursor& code, std::uint8_t opcode);
  bool set_offset(Cursor& code, std::uint8_t opcode);
  bool set_register(Cursor& code);
  bool advance(std::uint64_t delta);
  bool set_place(std::uint64_t dwarf_register, Place::Kind kind, std::uint8_t base,
                 std::int64_t offset);
  bool set_expression(Cursor& code, bool is_value);
  bool restore(std::uint64_t dwarf_register);
  bool save_state();
  bool restore_state();
  bool set_cfa(std::uint64_t base, std::int64_t offset);
  [[nodiscard]] std::int64_t factored(std::uint64_t value) const;

  ProgramTraits traits_;
  std::uint64_t location_;
  std::uint64_t pc_;
  bool passed_ = false;  // The next instructions belong to later pcs.
  std::size_t saved_count_ = 0;
  Row row_{};
  Row initial_{};
  Row saved_[kMaxSaved];  // Below saved_count_; the rest is not even zeroed.
};

}  // namespace geiger::unwind
