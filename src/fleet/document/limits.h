// What every document keeps to.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fleet/document/document.h"

namespace geiger::fleet {

/// Why a text cannot name a service, version or host, if it cannot: a clause.
[[nodiscard]] std::optional<std::string> problem_with_name(std::string_view text);

/// What is wrong with a document, if anything: a clause. Its numbers fit into signed 64 bits, and
/// so do sums of thousands of them.
[[nodiscard]] std::optional<std::string> problem_with(const Document& document);

}  // namespace geiger::fleet
