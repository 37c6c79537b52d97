// What the standard libraries write into names that their users never typed.
#pragma once

#include <string_view>

namespace geiger::naming {

/// Whether a namespace named `name` within one named `outer` ("" at the top) is part of
/// an implementation or of a version: `__cxx11`, `__1`, `lts_20220623`.
[[nodiscard]] bool is_inline_namespace(std::string_view name, std::string_view outer);

/// Whether the template argument is what the library's templates take where none is given:
/// `std::allocator<int>`. `is_first`: among its neighbours, where few such are defaults.
[[nodiscard]] bool is_default_argument(std::string_view argument, bool is_first);

/// "string" for basic_string<char, ...>; `name` where it has no shorter name.
[[nodiscard]] std::string_view name_of_basic(std::string_view name, std::string_view character);

/// `symbol` without `.isra.0`, ` [clone .cold]` and the like, which compilers append to the name
/// of the function that they made the code from.
[[nodiscard]] std::string_view without_clone(std::string_view symbol);

}  // namespace geiger::naming
