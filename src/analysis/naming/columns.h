// How many columns of a terminal a text takes, and where to cut it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace geiger::naming {

/// Terminal columns that a text takes.
[[nodiscard]] std::size_t columns_of(std::string_view text);

/// Bytes of the longest prefix that is at most `columns` wide.
[[nodiscard]] std::size_t prefix_within(std::string_view text, std::size_t columns);

/// First byte of the longest suffix that is at most `columns` wide.
[[nodiscard]] std::size_t suffix_within(std::string_view text, std::size_t columns);

/// At most `columns` wide: the middle goes, both ends stay ("alpha…omega").
[[nodiscard]] std::string elide(std::string_view text, std::size_t columns);

}  // namespace geiger::naming
