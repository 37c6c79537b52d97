// Documents as bytes: a protobuf message of columns, packed with zstd.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/outcome.h"
#include "fleet/document/document.h"

namespace geiger::fleet {

/// Equal documents become equal bytes. Requires that the document is within the limits of
/// document.h and that its counts are ascending.
[[nodiscard]] std::string pack(const Document& document);

/// Reads the result of pack(). The bytes may be anything: fails, with a clause, if they are not a
/// document or exceed its limits.
[[nodiscard]] base::Outcome<Document> unpack(std::string_view bytes);

/// The unpacked size that packed bytes declare; 0 if they declare none.
[[nodiscard]] std::size_t unpacked_size(std::string_view bytes);

/// A hash of the window and its counts, without the stacks that are sent along: different hashes
/// under the same key are an error.
[[nodiscard]] std::uint64_t content_of(const Document& document);

}  // namespace geiger::fleet
