#include "analysis/symbolize/dwarf/names.h"

#include <dwarf.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/symbolize/demangle.h"
#include "base/text.h"

namespace geiger::symbolize {

namespace {

bool is_hex_digit(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// +1 after an opening bracket, -1 after a closing one; "->" is not a bracket.
int change_of_depth(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (c == '<' || c == '(' || c == '[' || c == '{') return 1;
  if (c == '>' && at > 0 && text[at - 1] == '-') return 0;
  return c == '>' || c == ')' || c == ']' || c == '}' ? -1 : 0;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  return text;
}

/// The parts between the commas that are outside further brackets.
std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    depth += change_of_depth(list, i);
    if (list[i] != ',' || depth != 0) continue;
    parts.push_back(trimmed(list.substr(begin, i - begin)));
    begin = i + 1;
  }
  parts.push_back(trimmed(list.substr(begin)));
  return parts;
}

/// The word of `path` that begins at `at`; empty where none begins, or where it is part of a path.
std::string_view word_at(std::string_view path, std::size_t at) {
  if (!is_word(path[at]) || (at > 0 && (is_word(path[at - 1]) || path[at - 1] == ':'))) return {};
  std::size_t end = at;
  while (end < path.size() && is_word(path[end])) ++end;
  return path.substr(end).starts_with("::") ? std::string_view() : path.substr(at, end - at);
}

}  // namespace

bool is_rust_legacy(std::string_view linkage) {
  // "17h", 16 digits, "E".
  constexpr std::string_view kHash = "17h";
  constexpr std::size_t kDigits = 16;
  if (!linkage.starts_with("_ZN") || !linkage.ends_with('E')) return false;
  linkage.remove_suffix(1);
  if (linkage.size() < kHash.size() + kDigits) return false;
  const std::string_view digits = linkage.substr(linkage.size() - kDigits);
  linkage.remove_suffix(kDigits);
  return linkage.ends_with(kHash) && std::ranges::all_of(digits, is_hex_digit);
}

std::vector<TypeArgument> type_arguments(std::string_view name,
                                         const std::vector<std::string_view>& parameters) {
  const std::size_t open = name.find('<');
  if (open == std::string_view::npos || !name.ends_with('>') || parameters.empty()) return {};
  const auto types = split(name.substr(open + 1, name.size() - open - 2));
  if (types.size() != parameters.size()) return {};
  std::vector<TypeArgument> arguments;
  for (std::size_t i = 0; i < types.size(); ++i) arguments.emplace_back(parameters[i], types[i]);
  return arguments;
}

std::string with_arguments(std::string_view path, const std::vector<TypeArgument>& arguments) {
  std::string whole;
  int depth = 0;
  for (std::size_t i = 0; i < path.size();) {
    const std::string_view word = depth > 0 ? word_at(path, i) : std::string_view();
    const auto argument = std::ranges::find(arguments, word, &TypeArgument::first);
    if (!word.empty() && argument != arguments.end()) {
      whole += argument->second;
      i += word.size();
      continue;
    }
    depth += change_of_depth(path, i);
    whole += path[i++];
  }
  return whole;
}

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
