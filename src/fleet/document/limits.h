// Limits of every document.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fleet/document/document.h"

namespace geiger::fleet {

/// Why a text is not a valid name of a service, version or host, as a clause; nothing if it is
/// valid.
[[nodiscard]] std::optional<std::string> problem_with_name(std::string_view text);

/// What is wrong with a document, as a clause; nothing if it is valid: then its numbers and sums of
/// thousands of them fit into signed 64 bits.
[[nodiscard]] std::optional<std::string> problem_with(const Document& document);

}  // namespace geiger::fleet
