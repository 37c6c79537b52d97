// From a pc to its row: .eh_frame_hdr, FDE, CIE, call frame program, expressions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/unwind/machine.h"

namespace geiger::unwind {

// Bounds-checked reads of loader-mapped tables.
//
// A read past the end gives 0, moves to the end and clears ok(): callers check
// once, after a group of reads.

/// The bytes that may contain one module's tables.
struct ByteRange {
  const std::uint8_t* begin;
  const std::uint8_t* end;

  [[nodiscard]] bool holds(std::uint64_t address) const {
    return address >= reinterpret_cast<std::uint64_t>(begin) &&
           address < reinterpret_cast<std::uint64_t>(end);
  }
};

/// Pointer encodings of .eh_frame (LSB, "DWARF Exception Header Encoding").
inline constexpr std::uint8_t kEncodingOmit = 0xff;
inline constexpr std::uint8_t kEncodingFormat = 0x0f;
inline constexpr std::uint8_t kBaseNone = 0x00;
inline constexpr std::uint8_t kBasePc = 0x10;

/// Threads, signals: a value of its owner, no shared state.
class Cursor {
 public:
  /// `at` outside of `range` gives a cursor that is not ok.
  Cursor(const ByteRange& range, std::uint64_t at)
      : at_(range.holds(at) ? range.begin + (at - address_of(range.begin)) : range.end),
        end_(range.end),
        ok_(range.holds(at)) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return at_ == end_; }
  [[nodiscard]] std::uint64_t address() const { return address_of(at_); }

  template <class Integer>
  Integer fixed() {
    Integer value{};
    if (static_cast<std::uint64_t>(end_ - at_) < sizeof value) return fail<Integer>();
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::uint8_t u8() { return fixed<std::uint8_t>(); }
  std::uint32_t u32() { return fixed<std::uint32_t>(); }

  std::uint64_t uleb() {
    if (at_ != end_ && *at_ < 0x80) [[likely]] {
      return *at_++;
    }
    unsigned shift = 0;
    return leb(shift);
  }
  std::int64_t sleb() {
    unsigned shift = 0;
    std::uint64_t value = leb(shift);
    const bool negative = shift <= 64 && shift != 0 && (value >> (shift - 1) & 1) != 0;
    if (negative && shift < 64) value |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(value);
  }

  void skip(std::uint64_t bytes) {
    if (bytes > static_cast<std::uint64_t>(end_ - at_)) {
      fail<int>();
    } else {
      at_ += bytes;
    }
  }

  /// The next `bytes` as a separate cursor; this one moves past them.
  Cursor take(std::uint64_t bytes) {
    Cursor part = *this;
    skip(bytes);
    part.end_ = at_;
    part.ok_ = ok_;
    if (!ok_) part.at_ = part.end_;
    return part;
  }

  /// A pointer in `encoding`; indirect, text-, data- and function-relative ones
  /// do not occur where we follow pointers and are refused.
  std::uint64_t pointer(std::uint8_t encoding) {
    const std::uint64_t here = address();
    const std::uint64_t value = number(encoding & kEncodingFormat);
    switch (encoding & ~kEncodingFormat) {
      case kBaseNone:
        return value;
      case kBasePc:
        return here + value;
      default:
        return fail<std::uint64_t>();
    }
  }

  /// A number in one of the encoding formats.
  std::uint64_t number(std::uint8_t format) {
    switch (format) {
      case 0x00:
      case 0x04:
      case 0x0c:
        return fixed<std::uint64_t>();
      case 0x01:
        return uleb();
      case 0x02:
        return fixed<std::uint16_t>();
      case 0x03:
        return fixed<std::uint32_t>();
      case 0x09:
        return static_cast<std::uint64_t>(sleb());
      case 0x0a:
        return static_cast<std::uint64_t>(std::int64_t{fixed<std::int16_t>()});
      case 0x0b:
        return static_cast<std::uint64_t>(std::int64_t{fixed<std::int32_t>()});
      default:
        return fail<std::uint64_t>();
    }
  }

 private:
  static std::uint64_t address_of(const std::uint8_t* byte) {
    return reinterpret_cast<std::uint64_t>(byte);
  }

  template <class Value>
  Value fail() {
    ok_ = false;
    at_ = end_;
    return Value{};
  }

  // Bits beyond 64 are dropped, as every producer pads with zero or sign bits.
  std::uint64_t leb(unsigned& shift) {
    std::uint64_t value = 0;
    for (;;) {
      const std::uint8_t byte = u8();
      if (!ok_) return 0;
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      shift = shift < 64 ? shift + 7 : shift;
      if ((byte & 0x80) == 0) return value;
    }
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool ok_;
};

// One row of the unwind table: how the frame at one pc finds its caller.

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

// DWARF expressions of unwind tables, evaluated without registers.
//
// Every expression that compilers, assemblers and linkers write into .eh_frame is base + offset or
// [base + offset] + added once the pc is known (the expression of PLT entries depends on the pc).
// So expressions become terms when a row is made, and no interpreter runs during a walk; other
// expressions have no term.

/// False: malformed, or no term. `pc` is the value of the return address's column, if calls push
/// it.
[[nodiscard]] bool evaluate(const Cursor& code, std::uint64_t pc, Term& result);

// From a pc to its row: .eh_frame_hdr, FDE, CIE, call frame program.

/// The unwind tables of one module.
struct Cfi {
  /// The readable range: the segment that contains the tables.
  ByteRange readable;
  /// Address of .eh_frame_hdr, 0 = none.
  std::uint64_t header;
};

struct FoundRow {
  Row row;
  bool is_signal_frame;  ///< The caller was interrupted; its ip is not a return address.
};

/// False: no entry covers `pc`, or its tables are malformed or use what no known
/// producer emits. Never reads outside of `cfi.readable`; bounded by its size.
[[nodiscard]] bool find_row(const Cfi& cfi, std::uint64_t pc, FoundRow& found);

}  // namespace geiger::unwind
