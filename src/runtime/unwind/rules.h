// The rule of a pc: from the cache if it may still be used, else from the tables, else from code.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/unwind/rule.h"
#include "runtime/unwind/stack_memory.h"

namespace geiger::unwind {

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
