// Heap profiles in pprof's format: of Go, tcmalloc, node, jemalloc's converters, geiger.
#pragma once

#include <optional>
#include <string_view>

#include "analysis/import/foreign_process.h"
#include "analysis/ingest/error.h"

namespace geiger::imports {

/// Reads the message `bytes` into `process`. Its values are estimates; where it names a period
/// in bytes, what they were estimated from is got back (unscaled()), and they get intervals.
/// Else, and where they are not what samples of that period give, they stand as they are.
[[nodiscard]] std::optional<ingest::Error> read_pprof(std::string_view bytes,
                                                      ForeignProcess& process, Origin& origin);

}  // namespace geiger::imports
