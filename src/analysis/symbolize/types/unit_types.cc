#include "analysis/symbolize/types/unit_types.h"

#include <dwarf.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace geiger::symbolize {
namespace {

/// What a compiler puts in front of an array to remember its length.
constexpr std::array<std::int64_t, 2> kArrayHeaders{8, 16};

/// Inlined calls looked at below one function.
constexpr std::size_t kMaxInlined = 20'000;
constexpr int kMaxTypeDepth = 256;

bool fits(const NewSite& site, Bytes size, std::int64_t offset) {
  const bool has_header =
      site.is_array && std::ranges::find(kArrayHeaders, offset) != kArrayHeaders.end();
  if (offset != 0 && !has_header) return false;
  if (!site.is_array) return site.sizes.size() == 1 && site.sizes.front() == size;
  const auto header = static_cast<Bytes>(offset);
  return std::ranges::all_of(
      site.sizes, [&](Bytes asked) { return asked > header && (asked - header) % size == 0; });
}

/// The general register that DWARF gives a number.
std::uint8_t register_of_dwarf(unsigned number) {
  constexpr std::array<std::uint8_t, 16> kNumbers{0, 2, 1,  3,  6,  7,  5,  4,
                                                  8, 9, 10, 11, 12, 13, 14, 15};
  return number < kNumbers.size() ? kNumbers[number] : kNoRegister;
}

/// How many columns after operator new a compiler places the constructor of the new object,
/// where it places those of its members, if it is an aggregate, elsewhere. GCC makes no
/// difference for arrays.
std::optional<int> columns_to_constructor(Dwarf_Die* unit, bool is_array) {
  Dwarf_Attribute producer;
  if (dwarf_attr(unit, DW_AT_producer, &producer) == nullptr) return std::nullopt;
  const char* const text = dwarf_formstring(&producer);
  if (text == nullptr) return std::nullopt;
  const std::string_view name = text;
  if (name.starts_with("GNU ")) return is_array ? std::nullopt : std::optional(0);
  if (name.find("clang") == std::string_view::npos) return std::nullopt;
  return is_array ? 0 : 4;  // At the type, which "new " precedes.
}

/// Where the first parameter of an inlined call is.
bool find_this(Dwarf_Die inlined, Dwarf_Attribute* location) {
  Dwarf_Die child;
  if (dwarf_child(&inlined, &child) != 0) return false;
  for (;;) {
    Dwarf_Attribute artificial;
    const bool is_this = dwarf_tag(&child) == DW_TAG_formal_parameter &&
                         dwarf_attr_integrate(&child, DW_AT_artificial, &artificial) != nullptr &&
                         dwarf_diename(&child) != nullptr &&
                         std::string_view(dwarf_diename(&child)) == "this";
    if (is_this) return dwarf_attr(&child, DW_AT_location, location) != nullptr;
    const void* const here = child.addr;
    if (dwarf_siblingof(&child, &child) != 0 || child.addr <= here) return false;
  }
}

}  // namespace

std::optional<std::string> UnitTypes::type_at(
    Address call_of_new, Dwarf_Die scope, const NewSite& site, const PointerTrail& trail,
    const std::vector<std::optional<ClassType>>& constructed_by_call) {
  position_of_new_ = position_at(call_of_new);
  columns_to_constructor_ = columns_to_constructor(&root_, site.is_array);
  inlined_.clear();
  collect(&scope, kNoScope, 0);
  candidates_.clear();
  is_unclear_ = false;
  for (Inlined& one : inlined_) match(one, site, trail);
  for (Inlined& one : inlined_) {
    if (one.is_matched) {
      propose(*one.constructed, one.parent, position_of_call(&one.die));
    }
  }
  for (std::size_t i = 0; i < trail.calls.size(); ++i) {
    const PointerCall& call = trail.calls[i];
    const auto& made = constructed_by_call[i];
    if (made && fits(site, made->size, call.offset)) {
      propose(*made, innermost(call.at), position_at(call.at));
    }
  }
  if (is_unclear_ || candidates_.size() != 1 || is_wrapped(site)) return std::nullopt;
  return candidates_.front();
}

void UnitTypes::collect(Dwarf_Die* parent, std::uint32_t around, int depth) {
  Dwarf_Die child;
  if (depth > kMaxTypeDepth || dwarf_child(parent, &child) != 0) return;
  while (inlined_.size() < kMaxInlined) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block) {
      collect(&child, around, depth + 1);
    } else if (tag == DW_TAG_inlined_subroutine) {
      const auto index = static_cast<std::uint32_t>(inlined_.size());
      inlined_.push_back({child, around, class_constructed_by(child)});
      collect(&child, index, depth + 1);
    }
    const void* const here = child.addr;
    if (dwarf_siblingof(&child, &child) != 0 || child.addr <= here) return;
  }
}

void UnitTypes::match(Inlined& one, const NewSite& site, const PointerTrail& trail) const {
  if (!one.constructed) return;
  Dwarf_Attribute location;
  if (!find_this(one.die, &location)) return;
  for (const PointerPlace& place : trail.places) {
    const auto offset = offset_at(&location, place, &one.die);
    if (!offset || !fits(site, one.constructed->size, *offset)) continue;
    one.is_matched = true;
    return;
  }
}

/// The pointer's offset in what the location says at a place of the code.
std::optional<std::int64_t> UnitTypes::offset_at(Dwarf_Attribute* location,
                                                 const PointerPlace& place,
                                                 Dwarf_Die* scope) const {
  const Dwarf_Addr at = place.at + bias_;
  if (dwarf_haspc(scope, at) != 1) return std::nullopt;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_getlocation_addr(location, at, &operations, &count, 1) != 1) return std::nullopt;
  if (count == 1 && operations[0].atom >= DW_OP_reg0 && operations[0].atom <= DW_OP_reg15) {
    return place.registers[register_of_dwarf(operations[0].atom - DW_OP_reg0)];
  }
  const bool is_sum = count == 2 && operations[0].atom >= DW_OP_breg0 &&
                      operations[0].atom <= DW_OP_breg15 && operations[1].atom == DW_OP_stack_value;
  if (!is_sum) return std::nullopt;
  const auto value = place.registers[register_of_dwarf(operations[0].atom - DW_OP_breg0)];
  if (!value) return std::nullopt;
  return *value + static_cast<std::int64_t>(operations[0].number);
}

/// The innermost inlined call at an address of the code.
std::uint32_t UnitTypes::innermost(Address address) {
  std::uint32_t found = kNoScope;
  for (std::uint32_t i = 0; i < inlined_.size(); ++i) {
    if (dwarf_haspc(&inlined_[i].die, address + bias_) == 1) found = i;
  }
  return found;
}

/// A constructor within another one of the same object makes a base or a member of it.
void UnitTypes::propose(const ClassType& type, std::uint32_t around, const Position& position) {
  const bool is_direct = around == kNoScope;
  for (; around != kNoScope; around = inlined_[around].parent) {
    if (inlined_[around].is_matched) return;
  }
  // Compilers leave out classes that no variable has, also aggregates that could be meant.
  if (!is_direct || !is_of_new(position)) is_unclear_ = true;
  if (std::ranges::find(candidates_, type.name) == candidates_.end()) {
    candidates_.push_back(type.name);
  }
}

bool UnitTypes::is_of_new(const Position& position) const {
  return columns_to_constructor_ && position.is_known() && position_of_new_.is_known() &&
         position.line == position_of_new_.line &&
         position.column == position_of_new_.column + *columns_to_constructor_;
}

UnitTypes::Position UnitTypes::position_at(Address address) {
  Position position;
  Dwarf_Line* const line = dwarf_getsrc_die(&lines_, address + bias_);
  if (line == nullptr || dwarf_lineno(line, &position.line) != 0 ||
      dwarf_linecol(line, &position.column) != 0) {
    return {};
  }
  return position;
}

bool UnitTypes::is_wrapped(const NewSite& site) {
  if (!aggregates_) aggregates_.emplace(root_);
  return aggregates_->wraps(candidates_.front(), [&](Bytes size) {
    return fits(site, size, 0) || fits(site, size, 8) || fits(site, size, 16);
  });
}

UnitTypes::Position UnitTypes::position_of_call(Dwarf_Die* inlined) {
  Position position;
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &number) == 0) {
    position.line = static_cast<int>(number);
  }
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_column, &attribute), &number) == 0) {
    position.column = static_cast<int>(number);
  }
  return position;
}

}  // namespace geiger::symbolize
