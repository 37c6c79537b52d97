#include "analysis/symbolize/dwarf/functions.h"

#include <dwarf.h>

#include <tuple>
#include <vector>

#include "analysis/symbolize/demangle.h"
#include "analysis/symbolize/dwarf/rust_arguments.h"
#include "base/path.h"

namespace geiger::symbolize {
namespace {

/// References from a concrete function to its abstract one to its declaration:
/// two in practice; the limit ends circles.
constexpr int kMaxOrigins = 16;

/// Namespaces and classes around a declaration.
constexpr int kMaxNesting = 64;

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

/// Unnamed, with a call operator that no source wrote: g++ marks it so, and gives it no linker's
/// name where the function around it is not shared between objects.
bool is_lambda_class(Dwarf_Die* die) {
  const int tag = dwarf_tag(die);
  if (tag != DW_TAG_class_type && tag != DW_TAG_structure_type) return false;
  if (!text_of(die, DW_AT_name).empty()) return false;
  Dwarf_Die child;
  int state = dwarf_child(die, &child);
  for (int i = 0; state == 0 && i < kMaxSiblings; ++i) {
    const bool is_call = text_of(&child, DW_AT_name).starts_with("operator()");
    if (is_call && dwarf_hasattr_integrate(&child, DW_AT_artificial) != 0) return true;
    state = dwarf_siblingof(&child, &child);
  }
  return false;
}

/// Where a lambda's class is declared; the DIE decides between those that a macro put in one place.
struct Position {
  const char* file = nullptr;
  int line = 0, column = 0;
  const void* die = nullptr;
};

Position position_of(Dwarf_Die* die) {
  Position position{dwarf_decl_file(die), 0, 0, die->addr};
  dwarf_decl_line(die, &position.line);
  dwarf_decl_column(die, &position.column);
  return position;
}

bool is_up_to(const Position& one, const Position& other) {
  return one.file == other.file &&
         std::tie(one.line, one.column, one.die) <= std::tie(other.line, other.column, other.die);
}

/// Lambdas in `parent` and its blocks up to the one at `last`, in the order of the source, by which
/// g++ numbers them in linker's names.
std::size_t lambdas_up_to(Dwarf_Die parent, const Position& last, int depth = 0) {
  std::size_t count = 0;
  Dwarf_Die child;
  if (depth == kMaxNesting || dwarf_child(&parent, &child) != 0) return count;
  for (int i = 0; i < kMaxSiblings; ++i) {
    const bool is_block = dwarf_tag(&child) == DW_TAG_lexical_block;
    if (is_block) count += lambdas_up_to(child, last, depth + 1);
    if (is_lambda_class(&child) && is_up_to(position_of(&child), last)) ++count;
    const void* const here = child.addr;
    if (dwarf_siblingof(&child, &child) != 0 || child.addr <= here) break;
  }
  return count;
}

std::size_t number_of(const Dwarf_Die& scope, Dwarf_Die* lambda) {
  return lambdas_up_to(scope, position_of(lambda));
}

/// "{lambda#2}::", the second of those in `scope`. Outside of functions and classes other objects
/// have lambdas of the same number, so that the file is named.
std::string lambda_name(const Dwarf_Die& scope, Dwarf_Die* die) {
  constexpr std::string_view kHarmless =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-";
  std::string name = "{lambda#" + std::to_string(number_of(scope, die));
  Dwarf_Die outer = scope;
  const int tag = dwarf_tag(&outer);
  const char* const path = dwarf_decl_file(die);
  if ((tag == DW_TAG_namespace || tag == DW_TAG_compile_unit) && path != nullptr) {
    const std::string_view file = base::file_name_of(path);
    if (file.find_first_not_of(kHarmless) == std::string_view::npos) {
      name.append(" in ").append(file);
    }
  }
  return name + "}::";
}

/// The child of `parent` that is `target` or has it inside: the last one that
/// does not start after it.
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

/// "space::function(int)::" of a function with a linker's name; its definition may stand outside
/// of its namespace.
std::string whole_name(Dwarf_Die die) {
  if (dwarf_tag(&die) != DW_TAG_subprogram) return "";
  for (int hop = 0; hop < kMaxOrigins; ++hop) {
    const std::string_view linkage = own_linkage_name(&die);
    if (is_mangled(linkage)) return demangle(linkage) + "::";
    if (!follow_origin(&die)) break;
  }
  return "";
}

/// What is around a declaration.
struct Surroundings {
  std::string names;  ///< "space::Class::".
  Dwarf_Die scope;    ///< The innermost of them.
};

Surroundings surroundings_of(Dwarf_Die* die) {
  Surroundings found{};
  Dwarf_Die at;
  if (dwarf_diecu(die, &at, nullptr, nullptr) == nullptr) return found;
  found.scope = at;
  for (int depth = 0; depth < kMaxNesting; ++depth) {
    Dwarf_Die next;
    if (!descend(at, die->addr, &next) || next.addr == die->addr) return found;
    at = next;
    if (const std::string whole = whole_name(at); !whole.empty()) {
      found.names = whole;
    } else {
      found.names += is_lambda_class(&at) ? lambda_name(found.scope, &at) : scope_name(&at);
    }
    if (gives_a_scope(dwarf_tag(&at))) found.scope = at;
  }
  return found;
}

/// The class of the type parameter `die`, behind references and qualifiers.
bool class_of_parameter(Dwarf_Die* die, Dwarf_Die* found) {
  Dwarf_Attribute reference;
  *found = *die;
  for (int hop = 0; hop < kMaxOrigins; ++hop) {
    if (dwarf_attr(found, DW_AT_type, &reference) == nullptr) return hop > 0;
    if (dwarf_formref_die(&reference, found) == nullptr) return false;
  }
  return false;
}

/// `name`, "apply<main()::<lambda(int)> >", with the number of each lambda among its arguments:
/// g++ leaves that to the linker's name. `die`: the function, whose type parameters come first.
std::string with_lambda_numbers(std::string name, Dwarf_Die* die) {
  constexpr std::string_view kLambda = "<lambda(";
  std::size_t from = name.find(kLambda);
  Dwarf_Die child;
  int state = from == std::string::npos ? 1 : dwarf_child(die, &child);
  for (; state == 0 && from != std::string::npos; state = dwarf_siblingof(&child, &child)) {
    if (dwarf_tag(&child) != DW_TAG_template_type_parameter) break;
    Dwarf_Die type;
    if (!class_of_parameter(&child, &type) || !is_lambda_class(&type)) continue;
    const std::size_t end = name.find(")>", from);
    if (end == std::string::npos) break;
    const Surroundings around = surroundings_of(&type);
    name.insert(end + 1, "#" + std::to_string(number_of(around.scope, &type)));
    from = name.find(kLambda, end);
  }
  return name;
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
  for (int hop = 0; hop < kMaxOrigins; ++hop) {
    if (name.linkage.empty()) name.linkage = own_linkage_name(&die);
    if (is_mangled(name.linkage)) {
      name.plain = rust_name(&die, name.linkage);
      return name;
    }
    if (plain.empty()) plain = text_of(&die, DW_AT_name);
    if (!follow_origin(&die)) break;
  }
  if (!plain.empty()) {
    name.plain = surroundings_of(&die).names + with_lambda_numbers(std::string(plain), &die);
  }
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
  return surroundings_of(die).names.append(text_of(die, DW_AT_name));
}

bool FunctionName::is_in_lambda() const { return plain.find("{lambda#") != std::string::npos; }

const FunctionName& FunctionNames::name_of(Dwarf_Die* die) {
  const auto [at, is_new] = names_.try_emplace(identity_of(die));
  if (is_new) at->second = find_name(*die);
  return at->second;
}

}  // namespace geiger::symbolize
