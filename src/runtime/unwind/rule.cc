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
  if ((cfa.base != dwarf::kRsp && cfa.base != dwarf::kRbp) || cfa.added != 0) return false;
  bits |= std::uint64_t{cfa.base == dwarf::kRbp} << 2 | std::uint64_t{cfa.is_loaded} << 3;
  return put(bits, cfa.offset, 45, 19);
}

bool put_bp(std::uint64_t& bits, const Place& place) {
  using enum Rule::BpPlace;
  if (place.kind == Place::Kind::kSame || place.kind == Place::Kind::kUndefined) return true;
  if (place.kind != Place::Kind::kAt) return false;
  if (place.base != dwarf::kCfa && place.base != dwarf::kRsp && place.base != dwarf::kRbp)
    return false;
  const auto base = place.base == dwarf::kCfa   ? kFromCfa
                    : place.base == dwarf::kRsp ? kFromSp
                                                : kFromBp;
  bits |= static_cast<std::uint64_t>(base) << 4;
  return put(bits, place.offset, 29, 16);
}

bool put_ip(std::uint64_t& bits, const Place& place) {
  if (place.kind != Place::Kind::kAt || (place.base != dwarf::kCfa && place.base != dwarf::kRsp))
    return false;
  bits |= std::uint64_t{place.base == dwarf::kRsp} << 6;
  return put(bits, place.offset, 23, 6);
}

constexpr std::int32_t kLastWord = -8;

/// See is_plain(). The row fits a rule.
bool is_usual(const FoundRow& found) {
  const Place& ip = found.row[Slot::kReturnAddress];
  const Place& bp = found.row[Slot::kRbp];
  const Term& cfa = found.row.cfa;
  const bool saves_bp = bp.kind == Place::Kind::kAt;
  const bool is_bp_inside =
      bp.base == dwarf::kCfa && bp.offset <= kLastWord && bp.offset >= -cfa.offset;
  return !found.is_signal_frame && !cfa.is_loaded && cfa.offset > 0 && ip.base == dwarf::kCfa &&
         ip.offset == kLastWord && (!saves_bp || is_bp_inside);
}

}  // namespace

Rule Rule::of(const FoundRow& found) {
  const Row& row = found.row;
  const Place& ip = row[Slot::kReturnAddress];
  if (ip.kind == Place::Kind::kUndefined) return Rule(of_kind(Kind::kEnd));
  std::uint64_t bits =
      static_cast<std::uint64_t>(Kind::kStep) | std::uint64_t{found.is_signal_frame} << 7;
  const bool fits = put_cfa(bits, row.cfa) && put_bp(bits, row[Slot::kRbp]) && put_ip(bits, ip);
  if (!fits) return Rule(of_kind(Kind::kAllRegisters));
  if (is_usual(found)) {
    bits |= kPlain;
    if (row[Slot::kRbp].kind != Place::Kind::kAt) put(bits, kLastWord, 29, 16);
  }
  return Rule(bits);
}

}  // namespace geiger::unwind
