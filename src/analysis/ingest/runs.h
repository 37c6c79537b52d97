// Finds traces: run directories and trace files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/ingest/error.h"

namespace geiger::ingest {

/// The traces that a path names.
struct TraceFiles {
  std::vector<std::string> paths;
  std::optional<Error> error;  ///< Not found, not readable, or a directory without traces.
};

/// A file stands for itself, a directory for the *.geiger files in it in the order
/// in which their images began: the program that was run comes first. What has no
/// header comes last, by name.
[[nodiscard]] TraceFiles traces_in(const std::string& path);

/// The newest run in a directory: the last modified of its run directories
/// (geiger-NAME.PID) and trace files (*.geiger); of equally new ones the last by
/// name. Nothing if there is none.
[[nodiscard]] std::optional<std::string> newest_run(const std::string& directory);

}  // namespace geiger::ingest
