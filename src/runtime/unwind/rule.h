// A row packed into 64 bits: the parts that the walk over (ip, sp, bp) needs.
//
// bp is the frame pointer's register: rbp, x29.
//
//   bits  0-1  kind           22     plain
//         2    CFA from bp    23-28  return address at base + 8 * this (signed)
//         3    CFA loaded     29-44  bp at base + 8 * this (signed)
//         4-5  bp place       45-63  CFA base + 8 * this (signed)
//         6    return address relative to sp, not the CFA
//         7    signal frame
//         8    permanent module
//         9-21 module id
// If calls do not push the return address, it and bp are saved as a pair anywhere in the frame:
// then bits 23-28 are its distance from bp's place, or 0 if bp is kept and bits 29-44 are its
// place.
// Rows that do not fit become kAllRegisters. 0 is not a rule.
#pragma once

#include <cstdint>

#include "runtime/unwind/cfi.h"

namespace geiger::unwind {

class Rule {
 public:
  enum class Kind : std::uint8_t {
    kFramePointer = 0,  ///< No row: only [bp], [bp + 8] may help.
    kStep = 1,
    kEnd = 2,           ///< The outermost frame.
    kAllRegisters = 3,  ///< Needs more than ip, sp and bp.
  };
  enum class BpPlace : std::uint8_t { kSame = 0, kFromCfa = 1, kFromSp = 2, kFromBp = 3 };

  constexpr Rule() = default;
  explicit constexpr Rule(std::uint64_t bits) : bits_(bits) {}

  /// The rule of a pc that no table covers.
  [[nodiscard]] static Rule without_row() { return Rule(of_kind(Kind::kFramePointer)); }
  [[nodiscard]] static Rule of(const FoundRow& found);
  [[nodiscard]] Rule in_module(std::uint32_t id, bool is_permanent) const {
    const std::uint64_t kept = bits_ & ~(is_permanent ? kModuleBits : kModuleBits | kPlain);
    return Rule(kept | std::uint64_t{is_permanent} << 8 | std::uint64_t{id} << 9);
  }

  [[nodiscard]] std::uint64_t bits() const { return bits_; }

  /// Whether the frame is plain, as nearly all are: in a permanent module, with
  ///   CFA = base + cfa_offset(), base sp or bp,
  ///   the return address at CFA + plain_ip_offset(),
  ///   bp kept, or saved at CFA + bp_offset() with -cfa_offset() <= bp_offset() <= -8
  /// so that both words are in [base, CFA). If bp is kept, bp_offset() is that of another word
  /// there.
  [[nodiscard]] bool is_plain() const { return (bits_ & kPlain) != 0; }
  /// For plain rules only.
  [[nodiscard]] bool saves_bp() const { return (bits_ >> 4 & 1) != 0; }

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(bits_ & 3); }
  [[nodiscard]] bool is_cfa_from_bp() const { return (bits_ >> 2 & 1) != 0; }
  [[nodiscard]] bool is_cfa_loaded() const { return (bits_ >> 3 & 1) != 0; }
  [[nodiscard]] BpPlace bp_place() const { return static_cast<BpPlace>(bits_ >> 4 & 3); }
  [[nodiscard]] bool is_ip_from_sp() const { return (bits_ >> 6 & 1) != 0; }
  [[nodiscard]] bool is_signal_frame() const { return (bits_ >> 7 & 1) != 0; }
  [[nodiscard]] bool is_permanent() const { return (bits_ >> 8 & 1) != 0; }
  [[nodiscard]] std::uint32_t module() const {
    return static_cast<std::uint32_t>(bits_ >> 9 & 0x1fff);
  }
  [[nodiscard]] std::uint64_t ip_offset() const {
    return signed_field(23, 6) + (machine::kPushesReturnAddress ? 0 : signed_field(29, 16));
  }
  /// Pushed, it is the last word before the CFA.
  [[nodiscard]] std::uint64_t plain_ip_offset() const {
    return machine::kPushesReturnAddress ? std::uint64_t{0} - 8 : ip_offset();
  }
  /// Unless bp is kept.
  [[nodiscard]] std::uint64_t bp_offset() const { return signed_field(29, 16); }
  [[nodiscard]] std::uint64_t cfa_offset() const { return signed_field(45, 19); }

 private:
  static constexpr std::uint64_t kModuleBits = std::uint64_t{0x3fff} << 8;
  // So that no rule is all zero.
  static constexpr std::uint64_t kNoPlace = std::uint64_t{1} << 23;
  static constexpr std::uint64_t kPlain = std::uint64_t{1} << 22;

  static constexpr std::uint64_t of_kind(Kind kind) {
    return kNoPlace | static_cast<std::uint64_t>(kind);
  }
  // Bytes, sign-extended: to be added modulo 2^64.
  [[nodiscard]] std::uint64_t signed_field(unsigned shift, unsigned width) const {
    return static_cast<std::uint64_t>(
        (static_cast<std::int64_t>(bits_ << (64 - shift - width)) >> (64 - width)) * 8);
  }

  std::uint64_t bits_ = 0;
};

}  // namespace geiger::unwind
