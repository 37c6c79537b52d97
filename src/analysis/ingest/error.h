// What can go wrong with files, in one line each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/outcome.h"
#include "trace/reader.h"

namespace geiger::ingest {

/// A file that could not be used, or only up to an offset.
struct Error {
  std::string path;
  std::optional<std::uint64_t> offset;  ///< Bytes from the file's start, where one is known.
  std::string reason;
  bool is_missing = false;  ///< There is no such file.

  /// "PATH: offset N: REASON" or "PATH: REASON".
  [[nodiscard]] std::string text() const;
};

/// What functions return that use files.
using FileOutcome = base::Outcome<void, Error>;

/// The error of a failed system call: errno's text after what was tried.
[[nodiscard]] Error system_error(const std::string& path, const char* tried);

/// A trace's fault in words with its numbers; `image_offset` is the place in the
/// file that the fault's offset counts from.
[[nodiscard]] Error trace_fault(const std::string& path, std::uint64_t image_offset,
                                const trace::TraceError& fault);

}  // namespace geiger::ingest
