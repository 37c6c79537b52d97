// What of a name gives way first where there is little room.
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

/// fit_name() in that order.
[[nodiscard]] std::string fitted(std::string_view display, std::size_t columns, GivesWay first);

}  // namespace geiger::naming
