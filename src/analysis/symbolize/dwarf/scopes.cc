#include "analysis/symbolize/dwarf/scopes.h"

#include <dwarf.h>

#include <algorithm>
#include <limits>

#include "analysis/symbolize/dwarf/units.h"

namespace geiger::symbolize {
namespace {

/// Deeper nesting is cut off: it would overflow our stack before it made sense.
constexpr int kMaxScopeDepth = 512;

/// DIEs looked at per unit. Crafted sibling references can make a walk come by
/// the same DIEs again and again; the largest units known have 10 million.
constexpr std::size_t kMaxVisits = std::size_t{1} << 26;

bool is_type_with_methods(int tag) {
  return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
         tag == DW_TAG_interface_type;
}

bool is_transparent(int tag) {
  return tag == DW_TAG_lexical_block || tag == DW_TAG_namespace || tag == DW_TAG_module ||
         tag == DW_TAG_try_block || tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

}  // namespace

UnitScopes::UnitScopes(Dwarf_Die unit, std::span<const Address> addresses)
    : addresses_(addresses),
      innermost_(addresses.size(), kNoScope),
      subprogram_bytes_(addresses.size(), std::numeric_limits<Address>::max()) {
  walk_children(&unit, kNoScope, 0);
  const bool is_complete =
      std::find(innermost_.begin(), innermost_.end(), kNoScope) == innermost_.end();
  if (is_complete) return;
  scopes_.clear();
  std::fill(innermost_.begin(), innermost_.end(), kNoScope);
  std::fill(subprogram_bytes_.begin(), subprogram_bytes_.end(),
            std::numeric_limits<Address>::max());
  effort_ = Effort::kAll;
  visited_ = 0;
  walk_children(&unit, kNoScope, 0);
}

void UnitScopes::walk_children(Dwarf_Die* die, std::uint32_t parent, int depth) {
  Dwarf_Die child;
  if (depth > kMaxScopeDepth || dwarf_child(die, &child) != 0) return;
  while (++visited_ < kMaxVisits) {
    visit(&child, parent, depth + 1);
    // A sibling comes later; anything else would never end.
    const void* const here = child.addr;
    if (dwarf_siblingof(&child, &child) != 0 || child.addr <= here) return;
  }
}

void UnitScopes::visit(Dwarf_Die* die, std::uint32_t parent, int depth) {
  const int tag = dwarf_tag(die);
  if (tag == DW_TAG_subprogram) return visit_subprogram(die, depth);
  if (tag == DW_TAG_inlined_subroutine) return visit_inlined(die, parent, depth);
  const bool is_searched = effort_ == Effort::kAll || parent != kNoScope;
  if (is_transparent(tag) || (is_searched && is_type_with_methods(tag))) {
    walk_children(die, parent, depth);
  }
}

// Functions within functions (lambdas, local classes, nested functions) are
// subprograms of their own: their calls do not go through the enclosing one.
void UnitScopes::visit_subprogram(Dwarf_Die* die, int depth) {
  // Where ranges overlap the smaller subprogram is right: the other one was described carelessly,
  // or folded with this one by the linker.
  visit_function(die, kNoScope, depth, [&](std::size_t i, Address bytes) {
    if (subprogram_bytes_[i] <= bytes) return false;
    subprogram_bytes_[i] = bytes;
    return true;
  });
}

void UnitScopes::visit_inlined(Dwarf_Die* die, std::uint32_t parent, int depth) {
  visit_function(die, parent, depth, [&](std::size_t i, Address /*bytes*/) {
    return parent != kNoScope && innermost_[i] == parent;
  });
}

template <typename IsWithin>
void UnitScopes::visit_function(Dwarf_Die* die, std::uint32_t parent, int depth,
                                const IsWithin& is_within) {
  const auto scope = static_cast<std::uint32_t>(scopes_.size());
  bool is_hit = false;
  for_each_range(die, [&](Address low, Address high) {
    const auto [first, end] = covered(addresses_, low, high);
    for (std::size_t i = first; i < end; ++i) {
      if (!is_within(i, high - low)) continue;
      innermost_[i] = scope;
      is_hit = true;
    }
  });
  if (is_hit) scopes_.push_back({*die, parent});
  if (is_hit || effort_ == Effort::kAll) walk_children(die, is_hit ? scope : kNoScope, depth);
}

}  // namespace geiger::symbolize
