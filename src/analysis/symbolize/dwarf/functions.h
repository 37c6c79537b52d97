// The name of a function as DWARF records it.
#pragma once

#include <elfutils/libdw.h>

#include <string>
#include <string_view>
#include <unordered_map>

namespace geiger::symbolize {

struct FunctionName {
  /// The linker's name; empty where DWARF does not give it.
  std::string_view linkage;
  /// As the source has it, without parameters, with enclosing namespaces and
  /// classes. Empty where there is none, or where demangling `linkage` says more.
  std::string plain;

  /// `plain` counts a lambda: "main::{lambda#2}::operator()". The symbol table names only its
  /// copies that are not inlined, so it must not name those.
  [[nodiscard]] bool is_in_lambda() const;
};

/// Replaces `die` by the one it is an instance or a definition of; false if there is none.
bool follow_origin(Dwarf_Die* die);

/// "space::Class::name" of a function or type, from its declaration.
[[nodiscard]] std::string qualified_name(Dwarf_Die* die);

/// "name::", empty for what scopes nothing.
[[nodiscard]] std::string scope_name(Dwarf_Die* die);

/// Names of functions, remembered: an inlined function occurs at each call.
/// Texts point into the Dwarf that the DIEs are from, which must outlive this.
class FunctionNames {
 public:
  /// `die`: a subprogram or an inlined call.
  const FunctionName& name_of(Dwarf_Die* die);

 private:
  std::unordered_map<const void*, FunctionName> names_;  ///< By the DIE's address.
};

}  // namespace geiger::symbolize
