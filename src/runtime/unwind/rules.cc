#include "runtime/unwind/rules.h"

#include <link.h>

#include <initializer_list>

#include "base/loader.h"
#include "base/raw_syscall.h"
#include "runtime/unwind/code.h"
#include "runtime/unwind/modules.h"

namespace geiger::unwind {

namespace {

/// Adds `offset` / 8 as a signed field; false if it does not fit.
bool put(std::uint64_t& bits, std::int64_t offset, unsigned shift, unsigned width) {
  const std::int64_t words = offset / 8;
  const std::int64_t limit = std::int64_t{1} << (width - 1);
  if (offset % 8 != 0 || words >= limit || words < -limit) return false;
  bits |= (static_cast<std::uint64_t>(words) & ((std::uint64_t{1} << width) - 1)) << shift;
  return true;
}

bool put_cfa(std::uint64_t& bits, const Term& cfa) {
  if ((cfa.base != dwarf::kStackPointer && cfa.base != dwarf::kFramePointer) || cfa.added != 0)
    return false;
  bits |= std::uint64_t{cfa.base == dwarf::kFramePointer} << 2 | std::uint64_t{cfa.is_loaded} << 3;
  return put(bits, cfa.offset, 45, 19);
}

bool put_bp(std::uint64_t& bits, const Place& place) {
  using enum Rule::BpPlace;
  if (place.kind == Place::Kind::kSame || place.kind == Place::Kind::kUndefined) return true;
  if (place.kind != Place::Kind::kAt) return false;
  if (place.base != dwarf::kCfa && place.base != dwarf::kStackPointer &&
      place.base != dwarf::kFramePointer)
    return false;
  const auto base = place.base == dwarf::kCfa            ? kFromCfa
                    : place.base == dwarf::kStackPointer ? kFromSp
                                                         : kFromBp;
  bits |= static_cast<std::uint64_t>(base) << 4;
  return put(bits, place.offset, 29, 16);
}

bool put_ip(std::uint64_t& bits, const Place& place) {
  if (place.kind != Place::Kind::kAt ||
      (place.base != dwarf::kCfa && place.base != dwarf::kStackPointer))
    return false;
  bits |= std::uint64_t{place.base == dwarf::kStackPointer} << 6;
  return put(bits, place.offset, 23, 6);
}

/// bp and the return address.
bool put_pair(std::uint64_t& bits, const Place& bp, const Place& ip) {
  if constexpr (machine::kPushesReturnAddress) return put_bp(bits, bp) && put_ip(bits, ip);
  if (ip.kind != Place::Kind::kAt || ip.base != dwarf::kCfa) return false;
  if (bp.kind == Place::Kind::kSame || bp.kind == Place::Kind::kUndefined) {
    return put(bits, ip.offset, 29, 16);
  }
  return bp.base == dwarf::kCfa && put_bp(bits, bp) && put(bits, ip.offset - bp.offset, 23, 6);
}

constexpr std::int32_t kLastWord = -8;

/// See is_plain(). The row fits a rule.
bool is_usual(const FoundRow& found) {
  const Place& ip = found.row[Slot::kReturnAddress];
  const Place& bp = found.row[Slot::kFramePointer];
  const Term& cfa = found.row.cfa;
  const bool saves_bp = bp.kind == Place::Kind::kAt;
  const auto is_inside = [&cfa](const Place& place) {
    return place.base == dwarf::kCfa && place.offset <= kLastWord && place.offset >= -cfa.offset;
  };
  return !found.is_signal_frame && !cfa.is_loaded && cfa.offset > 0 && is_inside(ip) &&
         (!machine::kPushesReturnAddress || ip.offset == kLastWord) && (!saves_bp || is_inside(bp));
}

}  // namespace

Rule Rule::of(const FoundRow& found) {
  const Row& row = found.row;
  const Place& ip = row[Slot::kReturnAddress];
  if (ip.kind == Place::Kind::kUndefined) return Rule(of_kind(Kind::kEnd));
  const Place& bp = row[Slot::kFramePointer];
  const std::uint64_t signal = std::uint64_t{found.is_signal_frame} << 7;
  std::uint64_t bits = static_cast<std::uint64_t>(Kind::kStep) | signal;
  // A function that a signal interrupted may have its return address in a register still.
  const bool is_followed = machine::kPushesReturnAddress || !found.is_signal_frame;
  const bool fits = is_followed && put_cfa(bits, row.cfa) && put_pair(bits, bp, ip);
  if (!fits) return Rule(of_kind(Kind::kAllRegisters) | signal);
  if (is_usual(found)) {
    bits |= kPlain;
    if (machine::kPushesReturnAddress && bp.kind != Place::Kind::kAt) put(bits, kLastWord, 29, 16);
  }
  return Rule(bits);
}

namespace {

// Code at an entry point has no caller. The tables of compilers' start files say so; those of the
// loader, which runs constructors, do not.
constexpr std::uint64_t kEntryCodeBytes = 64;

bool is_entry_code(const FoundModule& module, std::uint64_t pc) {
  return module.entry_point != 0 && pc - module.entry_point < kEntryCodeBytes;
}

// A created stack (makecontext) returns to the first byte of the function that ends it: there is no
// call instruction before that byte, and no table covers it.
bool is_made_return(const FoundModule& module, std::uint64_t pc) {
  FoundRow behind;
  return find_row(module.cfi, pc + 1, behind);
}

/// musl has no tables and no frame pointers. The functions that call main and a thread's function
/// are not exported, but are beside one that is.
bool is_start_code_of_musl(const FoundModule& found, std::uint64_t pc) {
  constexpr std::uint64_t kBeside = 512;
  if (found.id == 0) return false;
  const auto* map = static_cast<const link_map*>(module(found.id).link_map);
  for (const char* name : {"__libc_start_main", "pthread_create"}) {
    const auto at = reinterpret_cast<std::uint64_t>(base::find_symbol(map, name));
    if (at != 0 && pc + kBeside - at < 2 * kBeside) return true;
  }
  return false;
}

/// Finds the row of a pc in a known module. False: none.
bool find_row_in(const FoundModule& module, std::uint64_t pc, const Registers& at,
                 StackMemory& stack, FoundRow& found) {
  const bool has_table = module.cfi.header != 0;
  if (has_table && find_row(module.cfi, pc, found)) return true;
  if (machine::find_signal_return(pc, true, found)) return true;
  const bool is_end = is_entry_code(module, pc) || is_start_code_of_musl(module, pc) ||
                      (has_table && is_made_return(module, pc));
  if (!is_end) {
    if constexpr (machine::kFollowsCode) return find_row_of_code(module, pc, at, stack, found);
    return false;
  }
  found = FoundRow{};
  found.row[Slot::kReturnAddress].kind = Place::Kind::kUndefined;
  return true;
}

}  // namespace

constinit RuleCache Rules::cache_{};

/// Rules that are evicted, or stored by other threads to the old places meanwhile, are looked up
/// again.
void RuleCache::take_places(std::size_t count) {
  base::populate(entries_, count * sizeof(Entry));
  const std::uint64_t mask = count - 2;
  for (std::size_t i = 0; i < kFirstPlaces; ++i) {
    const Rule rule(entries_[i].rule.load(std::memory_order_relaxed));
    const std::uint64_t pc = pc_of(entries_[i], rule);
    Rule known;
    if (rule.bits() != 0 && !find(pc, known, mask)) put(pc, rule, mask);
  }
  mask_.store(mask, std::memory_order_relaxed);
}

GEIGER_SLOW_PATH std::uint32_t RuleCache::enlarge_slow() {
  const bool is_first = mask_.load(std::memory_order_relaxed) == 0;
  take_places(is_first ? kFirstPlaces : kPlaces);
  return is_first ? kStoredAtFirst : ~std::uint32_t{0};
}

GEIGER_SLOW_PATH bool Rules::recheck(std::uint32_t module, std::uint64_t pc) {
  if (!is_still(module, pc)) return false;
  checked_ = module;
  return true;
}

GEIGER_SLOW_PATH Rule Rules::find_slow(std::uint64_t pc, const Registers& at, StackMemory& stack) {
  FoundModule module;
  FoundRow found;
  if (!find_module(pc, module)) {
    return machine::find_signal_return(pc, false, found) ? Rule::of(found) : Rule::without_row();
  }
  const Rule rule =
      (find_row_in(module, pc, at, stack, found) ? Rule::of(found) : Rule::without_row())
          .in_module(module.id, module.is_permanent);
  if (module.is_recognizable) {
    cache_.store(pc, rule);
    checked_ = module.id;
  }
  return rule;
}

bool find_full_row(std::uint64_t pc, const Registers& at, StackMemory& stack, FoundRow& found,
                   std::uint32_t& module) {
  FoundModule place;
  module = 0;
  if (!find_module(pc, place)) return machine::find_signal_return(pc, false, found);
  module = place.id;
  return find_row_in(place, pc, at, stack, found);
}

}  // namespace geiger::unwind
