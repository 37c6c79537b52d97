// Fits names into few columns: which of their parts give way first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace geiger::naming {

enum class GivesWay : std::uint8_t {
  kArguments,   ///< Template arguments, then namespaces, then parameters.
  kNamespaces,  ///< Namespaces, then the lists.
};

/// As fit_name(), dropping parts in the order of `first`.
[[nodiscard]] std::string fitted(std::string_view display, std::size_t columns, GivesWay first);

}  // namespace geiger::naming
