// What DWARF says of names: of functions, with Rust's type parameters, and of classes and their
// constructors.
#pragma once

#include <elfutils/libdw.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/units.h"

namespace geiger::symbolize {

// Names of Rust's legacy mangling, made whole by what DWARF knows.
//
// That mangling has a function's path with the names of its type parameters,
// `alloc::boxed::Box<T>::new`; DWARF has the parameters' names and, in the function's
// own name, `new<app::Node>`, what they stand for. Together: `alloc::boxed::Box<app::Node>::new`.

/// Whether `linkage` is of that mangling: Itanium's form, with a hash as its last component.
[[nodiscard]] bool is_rust_legacy(std::string_view linkage);

/// A type parameter and the type that it stands for.
using TypeArgument = std::pair<std::string_view, std::string_view>;

/// The types in the bracket of `name`, "new<app::Node, Global>", beside the names of the
/// parameters, in order. None if their numbers differ. Views into both.
[[nodiscard]] std::vector<TypeArgument> type_arguments(
    std::string_view name, const std::vector<std::string_view>& parameters);

/// `path` with the parameters in its brackets replaced.
[[nodiscard]] std::string with_arguments(std::string_view path,
                                         const std::vector<TypeArgument>& arguments);

// The name of a function as DWARF records it.

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

// Classes in DWARF: which one a constructor makes, and which others could begin with one.

struct ClassType {
  std::string name;  ///< With namespaces and classes around it.
  Bytes size = 0;    ///< > 0
};

/// The class whose constructor `function` is, a subprogram or an inlined call. Nothing of other
/// functions, and of classes that are only declared here.
[[nodiscard]] std::optional<ClassType> class_constructed_by(Dwarf_Die function);

/// The aggregates of a unit: classes that can be made without a constructor of theirs, where
/// those of their first member or base run instead, at the same address.
class Aggregates {
 public:
  explicit Aggregates(Dwarf_Die unit);

  /// Whether an aggregate begins with an object of the class `name`, and has a size that `fits`.
  [[nodiscard]] bool wraps(const std::string& name, const std::function<bool(Bytes)>& fits) const;

 private:
  struct Known {
    std::string name;
    Bytes size = 0;
    const void* first = nullptr;  ///< The class of what begins it.
    bool is_aggregate = true;
    bool is_polymorphic = false;
    bool has_base_first = false;
  };

  void walk(Dwarf_Die* parent, const std::string& scope, int depth);
  void add(Dwarf_Die* die, const std::string& name);
  [[nodiscard]] bool is_aggregate(const Known& known) const;

  std::unordered_map<const void*, Known> classes_;  ///< By the DIE's address.
};

}  // namespace geiger::symbolize
