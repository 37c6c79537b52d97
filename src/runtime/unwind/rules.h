// The rule of a pc: from the cache if it may still be used, else from the tables, else from code.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/unwind/cfi.h"
#include "runtime/unwind/stack_memory.h"

namespace geiger::unwind {

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

/// 8192 rules in 128 KiB, in pairs: pcs a fixed distance apart fall on one place or on neighbours
/// wherever the module is loaded, and with single places they would evict each other at every
/// sample (seen: two callers in git, a third of the cost of its samples). A new rule takes the
/// first place of its pair and moves the previous rule to the second.
///
/// Most programs are sampled at few pcs, whose rules would be spread over 32 pages where 4 suffice.
/// So the cache begins with 1024 places and uses the others after 256 stores, whether of 256 rules
/// or of a few that evict each other.
///
/// An entry is two words that any thread may write at any time without a lock:
/// `check` = pc ^ scrambled rule. A reader that sees halves of two entries computes another pc and
/// misses. Both words are relaxed: the check ties them together, so no order is needed.
class RuleCache {
 public:
  [[gnu::always_inline]] bool find(std::uint64_t pc, Rule& rule) const {
    return find(pc, rule, mask_.load(std::memory_order_relaxed));
  }

  /// Prefetches the place of a pc.
  void prefetch(std::uint64_t pc) const {
    __builtin_prefetch(&entries_[pair_of(pc, mask_.load(std::memory_order_relaxed))]);
  }

  void store(std::uint64_t pc, Rule rule) {
    std::uint32_t room = room_.load(std::memory_order_relaxed);
    if (room == 0) room = enlarge_slow();
    room_.store(room - 1, std::memory_order_relaxed);
    put(pc, rule, mask_.load(std::memory_order_relaxed));
  }

 private:
  static constexpr unsigned kBits = 13;
  static constexpr std::size_t kPlaces = std::size_t{1} << kBits;
  static constexpr std::size_t kFirstPlaces = 1024;
  static constexpr std::uint32_t kStoredAtFirst = 256;

  struct alignas(16) Entry {
    std::atomic<std::uint64_t> check;
    std::atomic<std::uint64_t> rule;
  };

  [[gnu::always_inline]] bool find(std::uint64_t pc, Rule& rule, std::uint64_t mask) const {
    const std::uint64_t first = pair_of(pc, mask);
    return matches(entries_[first], pc, rule) || matches(entries_[first + 1], pc, rule);
  }

  /// Returns the number of stores until the next enlargement.
  std::uint32_t enlarge_slow();
  void take_places(std::size_t count);

  void put(std::uint64_t pc, Rule rule, std::uint64_t mask) {
    Entry& entry = entries_[pair_of(pc, mask)];
    Entry& other = entries_[pair_of(pc, mask) + 1];
    other.check.store(entry.check.load(std::memory_order_relaxed), std::memory_order_relaxed);
    other.rule.store(entry.rule.load(std::memory_order_relaxed), std::memory_order_relaxed);
    entry.check.store(pc ^ scramble(rule.bits()), std::memory_order_relaxed);
    entry.rule.store(rule.bits(), std::memory_order_relaxed);
  }

  [[gnu::always_inline]] static bool matches(const Entry& entry, std::uint64_t pc, Rule& rule) {
    const std::uint64_t bits = entry.rule.load(std::memory_order_relaxed);
    rule = Rule(bits);
    return pc_of(entry, rule) == pc;
  }

  static std::uint64_t pc_of(const Entry& entry, Rule rule) {
    return entry.check.load(std::memory_order_relaxed) ^ scramble(rule.bits());
  }

  static std::uint64_t pair_of(std::uint64_t pc, std::uint64_t mask) {
    return pc * 0x9e3779b97f4a7c15U >> (64 - kBits) & mask;
  }
  // Rules of similar frames differ in few bits, as pcs do. The product spreads the difference over
  // the word, so that halves of two entries match a third pc only by chance (2^-64).
  static std::uint64_t scramble(std::uint64_t bits) { return bits * 0xd6e8feb86659fd93U; }

  alignas(4096) Entry entries_[kPlaces];
  std::atomic<std::uint64_t> mask_;  ///< Of the places in use; even, as it selects pairs.
  std::atomic<std::uint32_t> room_;  ///< Stores until it is enlarged; approximate, as threads race.
};

/// Finds rules for one walk. A frame's module cannot be unloaded while the frame
/// is on the stack, so a module that was checked once in a walk stays checked.
class Rules {
 public:
  /// `pc` is in the instruction to unwind from: return address - 1. `at` is the frame, for code
  /// without tables.
  [[gnu::always_inline]] Rule find(std::uint64_t pc, const Registers& at, StackMemory& stack) {
    Rule rule;
    if (cache_.find(pc, rule) && (rule.is_permanent() || is_fresh(rule, pc))) [[likely]] {
      return rule;
    }
    return find_slow(pc, at, stack);
  }

  static void prefetch(std::uint64_t pc) { cache_.prefetch(pc); }

  /// The rule of a plain frame, if the cache has it. Its module needs no check.
  [[gnu::always_inline]] static bool find_plain(std::uint64_t pc, Rule& rule) {
    return cache_.find(pc, rule) && rule.is_plain();
  }

 private:
  [[gnu::always_inline]] bool is_fresh(Rule rule, std::uint64_t pc) {
    return rule.module() == checked_ || recheck(rule.module(), pc);
  }
  bool recheck(std::uint32_t module, std::uint64_t pc);
  Rule find_slow(std::uint64_t pc, const Registers& at, StackMemory& stack);

  static constinit RuleCache cache_;
  std::uint32_t checked_ = 0;  // Id of the module checked last in this walk.
};

/// The full row of `pc`, of the frame `at`. False: none.
[[nodiscard]] bool find_full_row(std::uint64_t pc, const Registers& at, StackMemory& stack,
                                 FoundRow& found, std::uint32_t& module);

}  // namespace geiger::unwind
