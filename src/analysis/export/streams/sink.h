// Where an export goes, piece by piece, and a JSON document written there.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "analysis/present/json.h"

namespace geiger::exports {

// Where an export goes, piece by piece, so that no format is held whole.

/// Takes the next bytes of the output. What it does about errors is its own
/// business (the command line remembers the first one).
using Sink = std::function<void(std::string_view)>;

/// A sink gets text in pieces of about this many bytes.
inline constexpr std::size_t kFlushAt = std::size_t{1} << 16;

// Writes a JSON document into a sink, piece by piece.

inline constexpr std::size_t kJsonPiece = 1 << 16;

/// Hands on what has been written, when it is worth a call.
inline void pass_on(present::JsonWriter& json, const Sink& sink) {
  if (json.piece_size() >= kJsonPiece) sink(json.take_piece());
}

}  // namespace geiger::exports
