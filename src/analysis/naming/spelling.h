// How a parsed name is written: what of it is shown.
#pragma once

#include <string>
#include <string_view>

namespace geiger::naming {

struct Detail {
  bool parameters = false;      ///< With what follows them, and the numbers of lambdas.
  bool all_arguments = false;   ///< Template arguments, none folded or taken for a default.
  bool all_namespaces = false;  ///< std::, inline and unnamed ones.
};

/// `demangled` in that detail.
[[nodiscard]] std::string spelled(std::string_view demangled, const Detail& detail);

}  // namespace geiger::naming
