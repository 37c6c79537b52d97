// How a parsed name is written: what of it is shown, of C++, of the standard libraries, of Python.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace geiger::naming {

// How a parsed name is written: what of it is shown.

struct Detail {
  bool parameters = false;      ///< With what follows them.
  bool lambda_numbers = false;  ///< "{lambda#2}"; else all lambdas of a function are alike.
  /// Of the function, if it is a lambda: "{lambda:24}"; 0: not shown.
  std::uint32_t lambda_line = 0;
  bool all_arguments = false;   ///< Template arguments, none folded or taken for a default.
  bool all_namespaces = false;  ///< std::, inline and unnamed ones.
};

/// `demangled` in that detail.
[[nodiscard]] std::string spelled(std::string_view demangled, const Detail& detail);

}  // namespace geiger::naming
