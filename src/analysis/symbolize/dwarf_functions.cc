#include "analysis/symbolize/dwarf_functions.h"

#include <dwarf.h>

#include <vector>

#include "analysis/symbolize/demangle.h"
#include "analysis/symbolize/rust_arguments.h"

namespace geiger::symbolize {
namespace {

/// References from a concrete function to its abstract one to its declaration:
/// two in practice; the limit ends circles.
constexpr int kMaxHops = 16;

/// Namespaces and classes around a declaration.
constexpr int kMaxDepth = 64;

/// Type parameters of a function.
constexpr std::size_t kMaxParameters = 64;

/// Top-level DIEs looked at to find where a declaration is.
constexpr int kMaxSiblings = 1 << 20;

std::string_view text_of(Dwarf_Die* die, unsigned attribute) {
  Dwarf_Attribute found;
  if (dwarf_attr(die, attribute, &found) == nullptr) return {};
  const char* const text = dwarf_formstring(&found);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

std::string_view own_linkage_name(Dwarf_Die* die) {
  const std::string_view name = text_of(die, DW_AT_linkage_name);
  return name.empty() ? text_of(die, DW_AT_MIPS_linkage_name) : name;
}

bool gives_a_scope(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
         tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type || tag == DW_TAG_module ||
         tag == DW_TAG_subprogram;
}

}  // namespace

bool follow_origin(Dwarf_Die* die) {
  Dwarf_Attribute reference;
  for (const unsigned attribute : {DW_AT_abstract_origin, DW_AT_specification}) {
    if (dwarf_attr(die, attribute, &reference) == nullptr) continue;
    Dwarf_Die origin;
    if (dwarf_formref_die(&reference, &origin) == nullptr) return false;
    *die = origin;
    return true;
  }
  return false;
}

std::string scope_name(Dwarf_Die* die) {
  const int tag = dwarf_tag(die);
  if (!gives_a_scope(tag)) return "";
  std::string_view name = text_of(die, DW_AT_name);
  Dwarf_Die declaration = *die;
  if (name.empty() && follow_origin(&declaration)) name = text_of(&declaration, DW_AT_name);
  if (!name.empty()) return std::string(name) + "::";
  if (tag == DW_TAG_subprogram) return "";
  return tag == DW_TAG_namespace ? "(anonymous namespace)::" : "{unnamed}::";
}

namespace {

/// The child of `parent` that is `target` or has it inside: the last one that
/// does not start behind it.
bool descend(Dwarf_Die parent, const void* target, Dwarf_Die* found) {
  Dwarf_Die child;
  bool is_found = false;
  if (dwarf_child(&parent, &child) != 0) return false;
  for (int i = 0; i < kMaxSiblings && child.addr <= target; ++i) {
    *found = child;
    is_found = true;
    const void* const here = child.addr;
    if (dwarf_siblingof(&child, &child) != 0 || child.addr <= here) break;
  }
  return is_found;
}

/// "space::Class::" around the declaration `die`.
std::string enclosing_scopes(Dwarf_Die* die) {
  std::string scopes;
  Dwarf_Die at;
  if (dwarf_diecu(die, &at, nullptr, nullptr) == nullptr) return scopes;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    Dwarf_Die next;
    if (!descend(at, die->addr, &next) || next.addr == die->addr) return scopes;
    at = next;
    scopes += scope_name(&at);
  }
  return scopes;
}

/// Names of the type parameters of the function `die`, in order.
std::vector<std::string_view> type_parameters(Dwarf_Die* die) {
  std::vector<std::string_view> names;
  Dwarf_Die child;
  // They precede all other children.
  for (int state = dwarf_child(die, &child);
       state == 0 && dwarf_tag(&child) == DW_TAG_template_type_parameter &&
       names.size() < kMaxParameters;
       state = dwarf_siblingof(&child, &child)) {
    names.push_back(text_of(&child, DW_AT_name));
  }
  return names;
}

/// Empty where the linker's name says all.
std::string rust_name(Dwarf_Die* die, std::string_view linkage) {
  if (!is_rust_legacy(linkage)) return "";
  const auto arguments = type_arguments(text_of(die, DW_AT_name), type_parameters(die));
  return arguments.empty() ? "" : with_arguments(demangle(linkage), arguments);
}

FunctionName find_name(Dwarf_Die die) {
  FunctionName name;
  std::string_view plain;
  for (int hop = 0; hop < kMaxHops; ++hop) {
    if (name.linkage.empty()) name.linkage = own_linkage_name(&die);
    if (is_mangled(name.linkage)) {
      name.plain = rust_name(&die, name.linkage);
      return name;
    }
    if (plain.empty()) plain = text_of(&die, DW_AT_name);
    if (!follow_origin(&die)) break;
  }
  if (!plain.empty()) name.plain = enclosing_scopes(&die).append(plain);
  return name;
}

/// All inlined calls of a function have the name of what they are instances of.
const void* identity_of(Dwarf_Die* die) {
  Dwarf_Die origin = *die;
  if (dwarf_tag(die) != DW_TAG_inlined_subroutine || !follow_origin(&origin)) return die->addr;
  return origin.addr;
}

}  // namespace

std::string qualified_name(Dwarf_Die* die) {
  return enclosing_scopes(die).append(text_of(die, DW_AT_name));
}

const FunctionName& FunctionNames::name_of(Dwarf_Die* die) {
  const auto [at, is_new] = names_.try_emplace(identity_of(die));
  if (is_new) at->second = find_name(*die);
  return at->second;
}

}  // namespace geiger::symbolize
