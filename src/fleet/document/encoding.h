// Documents as bytes: a protobuf message of columns, packed with zstd.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/outcome.h"
#include "fleet/document/document.h"

namespace geiger::fleet {

/// The same bytes for the same document. Requires that it keeps the limits of document.h and that
/// its counts are ascending.
[[nodiscard]] std::string pack(const Document& document);

/// Reads what pack() wrote. The bytes may be anything: fails, in a clause, where they are no
/// document or exceed its limits.
[[nodiscard]] base::Outcome<Document> unpack(std::string_view bytes);

/// Of bytes that unpack() may read: what they say to be their size unpacked, 0 if they do not.
[[nodiscard]] std::size_t unpacked_size(std::string_view bytes);

/// Of the window and its counts, which a key names: different ones under the same key are an
/// error. Which stacks come along does not matter.
[[nodiscard]] std::uint64_t content_of(const Document& document);

}  // namespace geiger::fleet
