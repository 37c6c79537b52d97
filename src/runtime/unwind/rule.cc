#include "runtime/unwind/rule.h"

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

}  // namespace geiger::unwind
