// Limits of every document.
#pragma once

#include <string>
#include <string_view>

#include "base/outcome.h"
#include "fleet/document/document.h"

namespace geiger::fleet {

/// As documents carry names of functions, programs and files, which may be any bytes: valid UTF-8
/// without NUL, the first characters that fit into kMostText bytes. Of its own results it returns
/// the same.
[[nodiscard]] std::string document_text(std::string_view text);

/// Fails, with a clause, if a text is not a valid name of a service, version or host.
[[nodiscard]] base::Outcome<void> check_name(std::string_view text);

/// Fails, with a clause, if a document is not valid. The numbers of valid ones, and sums of
/// thousands of them, fit into signed 64 bits.
[[nodiscard]] base::Outcome<void> check_limits(const Document& document);

}  // namespace geiger::fleet
