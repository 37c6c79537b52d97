#include "analysis/symbolize/dwarf/classes.h"

#include <dwarf.h>

#include <string_view>

#include "analysis/symbolize/dwarf/functions.h"

namespace geiger::symbolize {
namespace {

constexpr int kMaxHops = 32;    ///< Qualifiers, typedefs and origins; ends circles.
constexpr int kMaxDepth = 256;  ///< Of namespaces and classes.

bool is_class(int tag) {
  return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

std::string_view name_of(Dwarf_Die* die) {
  const char* const name = dwarf_diename(die);
  return name == nullptr ? std::string_view() : std::string_view(name);
}

bool has_flag(Dwarf_Die* die, unsigned attribute) {
  Dwarf_Attribute found;
  bool value = false;
  return dwarf_attr(die, attribute, &found) != nullptr && dwarf_formflag(&found, &value) == 0 &&
         value;
}

bool type_of(Dwarf_Die* die, Dwarf_Die* type) {
  Dwarf_Attribute reference;
  return dwarf_attr(die, DW_AT_type, &reference) != nullptr &&
         dwarf_formref_die(&reference, type) != nullptr;
}

/// Replaces a type by the class behind its qualifiers, and what `passes` besides.
template <typename Passes>
bool strip_to_class(Dwarf_Die* type, const Passes& passes) {
  for (int hop = 0; hop < kMaxHops; ++hop) {
    const int tag = dwarf_tag(type);
    if (is_class(tag)) return true;
    const bool is_passed = tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
                           tag == DW_TAG_typedef || passes(tag);
    if (!is_passed || !type_of(type, type)) return false;
  }
  return false;
}

template <typename Visit>
void for_each_child(Dwarf_Die* parent, const Visit& visit) {
  Dwarf_Die child;
  if (dwarf_child(parent, &child) != 0) return;
  for (;;) {
    visit(&child);
    const void* const here = child.addr;
    if (dwarf_siblingof(&child, &child) != 0 || child.addr <= here) return;
  }
}

/// "Foo" of "Foo<int>".
std::string_view without_arguments(std::string_view name) { return name.substr(0, name.find('<')); }

/// The class of `this` in a declaration: its first parameter, which no source text has.
bool class_of_this(Dwarf_Die* declaration, Dwarf_Die* type) {
  Dwarf_Die child;
  if (dwarf_child(declaration, &child) != 0 || dwarf_tag(&child) != DW_TAG_formal_parameter) {
    return false;
  }
  if (!has_flag(&child, DW_AT_artificial) || !type_of(&child, type)) return false;
  return strip_to_class(type, [](int tag) { return tag == DW_TAG_pointer_type; });
}

/// Constructors have the name of their class; inherited ones that of a base.
bool is_constructor_name(std::string_view function, Dwarf_Die* type) {
  function = without_arguments(function);
  if (function.empty()) return false;
  if (function == without_arguments(name_of(type))) return true;
  bool is_of_base = false;
  for_each_child(type, [&](Dwarf_Die* child) {
    Dwarf_Die base;
    if (dwarf_tag(child) != DW_TAG_inheritance || !type_of(child, &base)) return;
    is_of_base |= function == without_arguments(name_of(&base));
  });
  return is_of_base;
}

/// Whether a constructor has a parameter that those which compilers make by themselves, to
/// copy and to move, have not.
bool takes_a_value(Dwarf_Die* constructor) {
  bool takes = false;
  for_each_child(constructor, [&](Dwarf_Die* child) {
    Dwarf_Die type;
    if (dwarf_tag(child) != DW_TAG_formal_parameter || has_flag(child, DW_AT_artificial)) return;
    if (!type_of(child, &type)) return;
    const int tag = dwarf_tag(&type);
    takes |= tag != DW_TAG_reference_type && tag != DW_TAG_rvalue_reference_type;
  });
  return takes;
}

/// The offset of a member or base in its class; nothing of bit fields and virtual bases.
std::optional<Dwarf_Word> offset_of(Dwarf_Die* member) {
  Dwarf_Attribute attribute;
  if (dwarf_attr(member, DW_AT_data_member_location, &attribute) == nullptr) return std::nullopt;
  Dwarf_Word offset = 0;
  if (dwarf_formudata(&attribute, &offset) != 0) return std::nullopt;
  return offset;
}

}  // namespace

std::optional<ClassType> class_constructed_by(Dwarf_Die function) {
  for (int hop = 0; hop < kMaxHops && follow_origin(&function); ++hop) {
  }
  Dwarf_Die type;
  if (!class_of_this(&function, &type) || !is_constructor_name(name_of(&function), &type)) {
    return std::nullopt;
  }
  const int size = dwarf_bytesize(&type);
  if (size <= 0 || has_flag(&type, DW_AT_declaration)) return std::nullopt;
  return ClassType{qualified_name(&type), static_cast<Bytes>(size)};
}

Aggregates::Aggregates(Dwarf_Die unit) { walk(&unit, "", 0); }

void Aggregates::walk(Dwarf_Die* parent, const std::string& scope, int depth) {
  if (depth > kMaxDepth) return;
  for_each_child(parent, [&](Dwarf_Die* child) {
    const int tag = dwarf_tag(child);
    if (is_class(tag)) add(child, scope + std::string(name_of(child)));
    const bool is_scope = is_class(tag) || tag == DW_TAG_namespace || tag == DW_TAG_subprogram ||
                          tag == DW_TAG_lexical_block;
    if (is_scope) walk(child, scope + scope_name(child), depth + 1);
  });
}

void Aggregates::add(Dwarf_Die* die, const std::string& name) {
  const int size = dwarf_bytesize(die);
  if (size <= 0 || has_flag(die, DW_AT_declaration)) return;
  Known known{name, static_cast<Bytes>(size)};
  const std::string_view own_name = without_arguments(name_of(die));
  for_each_child(die, [&](Dwarf_Die* child) {
    const int tag = dwarf_tag(child);
    if (tag == DW_TAG_member && name_of(child).starts_with("_vptr")) known.is_polymorphic = true;
    if (tag == DW_TAG_subprogram && is_constructor_name(name_of(child), die)) {
      Dwarf_Attribute defaulted;
      const bool is_written = !has_flag(child, DW_AT_artificial) &&
                              dwarf_attr(child, DW_AT_defaulted, &defaulted) == nullptr;
      const bool is_inherited =
          without_arguments(name_of(child)) != own_name || takes_a_value(child);
      if (is_written || is_inherited) known.is_aggregate = false;
    }
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) return;
    Dwarf_Die type;
    if (known.first != nullptr || offset_of(child) != 0 || !type_of(child, &type)) return;
    if (!strip_to_class(&type, [](int inner) { return inner == DW_TAG_array_type; })) return;
    known.first = type.addr;
    known.has_base_first = tag == DW_TAG_inheritance;
  });
  classes_.emplace(die->addr, std::move(known));
}

/// A class with a polymorphic base is polymorphic itself.
bool Aggregates::is_aggregate(const Known& known) const {
  if (!known.is_aggregate || known.is_polymorphic) return false;
  const Known* at = &known;
  for (int hop = 0; hop < kMaxHops && at->has_base_first; ++hop) {
    const auto base = classes_.find(at->first);
    if (base == classes_.end()) return true;
    at = &base->second;
    if (at->is_polymorphic) return false;
  }
  return true;
}

bool Aggregates::wraps(const std::string& name, const std::function<bool(Bytes)>& fits) const {
  for (const auto& [die, known] : classes_) {
    if (known.name == name || !fits(known.size) || !is_aggregate(known)) continue;
    const Known* at = &known;
    for (int hop = 0; hop < kMaxHops && at->first != nullptr; ++hop) {
      const auto inside = classes_.find(at->first);
      if (inside == classes_.end()) break;
      at = &inside->second;
      if (at->name == name) return true;
    }
  }
  return false;
}

}  // namespace geiger::symbolize
