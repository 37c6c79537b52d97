// Writes a JSON document into a sink, piece by piece.
#pragma once

#include <cstddef>

#include "analysis/export/streams/sink.h"
#include "analysis/present/json.h"

namespace geiger::exports {

inline constexpr std::size_t kJsonPiece = 1 << 16;

/// Hands on what has been written, when it is worth a call.
inline void pass_on(present::JsonWriter& json, const Sink& sink) {
  if (json.piece_size() >= kJsonPiece) sink(json.take_piece());
}

}  // namespace geiger::exports
