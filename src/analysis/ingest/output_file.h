// A file that appears under its name only when it is whole.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "analysis/ingest/error.h"

namespace geiger::ingest {

/// Written beside its name and renamed by commit(); uncommitted, it vanishes.
class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// Starts a file for `path` with the given permissions, whatever the umask; without
  /// any, with those that the umask leaves to a new file.
  [[nodiscard]] FileOutcome create(const std::string& path,
                                   std::optional<unsigned> mode = std::nullopt);
  [[nodiscard]] FileOutcome write(std::span<const std::byte> bytes);
  /// Gives it its name. An existing file is an error unless `replace`.
  [[nodiscard]] FileOutcome commit(bool replace);

 private:
  std::string path_;
  std::string temporary_;  ///< Empty when there is nothing to remove.
  int descriptor_ = -1;
};

}  // namespace geiger::ingest
