// The text that jemalloc, gperftools and tcmalloc write about a heap: rows of a stack with
// the number of its objects and their bytes.
#pragma once

#include <optional>
#include <string_view>

#include "analysis/import/byte_source.h"
#include "analysis/import/foreign_process.h"

namespace geiger::imports {

/// Whether a text begins like one of them.
[[nodiscard]] bool is_heap_text(std::string_view head);

/// Reads it into `process`. Sampled rows (heap_v2/INTERVAL) become Poisson samples, each of the
/// average size of its row; what counts every allocation (heapprofile) is exact. An error leaves
/// its path to the caller; all text before it has been read.
[[nodiscard]] ingest::FileOutcome read_heap_text(Lines& lines, ForeignProcess& process,
                                                 Origin& origin);

}  // namespace geiger::imports
