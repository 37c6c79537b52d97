// What is sent: documents, and word of stretches of time for which there will be none.
//
// A gap is a message of its own, and no document, because it counts nothing: the samples of its
// time are lost, and all that is known of them is when they were. Unlike documents a gap may be
// sent again with a later end, as more of what follows is lost; stores keep the longest.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/outcome.h"
#include "fleet/document/document.h"
#include "fleet/store/store.h"

namespace geiger::fleet {

using Parcel = std::variant<Document, GapRow>;

/// Requires a host's name that document.h allows.
[[nodiscard]] std::string pack(const GapRow& gap);

/// Reads what pack() wrote, of either kind. The bytes may be anything: fails with a clause.
[[nodiscard]] base::Outcome<Parcel> open_parcel(std::string_view bytes);

/// When it begins, in Unix seconds.
[[nodiscard]] std::int64_t start_of(const Parcel& parcel);

/// The gap that its loss leaves.
[[nodiscard]] GapRow gap_of(const Window& window, std::string reason);

}  // namespace geiger::fleet
