// Heap profiles in pprof's format: of Go, tcmalloc, node, jemalloc's converters, geiger.
#pragma once

#include <optional>
#include <string_view>

#include "analysis/import/foreign_process.h"
#include "analysis/ingest/error.h"

namespace geiger::imports {

/// Reads the message `bytes` into `process`. Its values are estimates. If it names a period in
/// bytes, the sampled numbers are recovered from them (unscaled()), and the values get intervals.
/// Otherwise, and where samples of that period cannot give these values, they are taken as they
/// are.
[[nodiscard]] ingest::FileOutcome read_pprof(std::string_view bytes, ForeignProcess& process,
                                             Origin& origin);

}  // namespace geiger::imports
