// Names of Rust's legacy mangling, made whole by what DWARF knows.
//
// That mangling has a function's path with the names of its type parameters,
// `alloc::boxed::Box<T>::new`; DWARF has the parameters' names and, in the function's
// own name, `new<app::Node>`, what they stand for. Together: `alloc::boxed::Box<app::Node>::new`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace geiger::symbolize {

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

}  // namespace geiger::symbolize
