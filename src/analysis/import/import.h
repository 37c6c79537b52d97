// Reads profiles that other programs wrote into a recording, which every view and export can use.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/import/foreign_process.h"
#include "analysis/ingest/files.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::imports {

enum class Format : std::uint8_t { kPprof, kHeapText, kHeaptrack };

/// What a file is, by its first bytes, unpacked; nothing if none of these. It is opened and
/// read as traces are: regular files only.
[[nodiscard]] std::optional<Format> format_of(const std::string& path);

/// Says what a file is and which ones geiger reads, if it is known by its first bytes, unpacked, as
/// one that it does not; else nothing.
[[nodiscard]] std::string refusal_of(const std::string& path);

struct Imported {
  profile::Recording recording;
  std::vector<Origin> origins;        ///< One per file that was read.
  std::vector<ingest::Error> errors;  ///< Of files that are damaged; what came before is used.
};

/// Called with stored bytes read and their number.
using ImportProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Reads files of known formats, each as one process. Names are those that the files have;
/// addresses without names are left to symbolize.
[[nodiscard]] Imported read_files(std::span<const std::string> paths,
                                  const ImportProgress& progress = {});

/// One file in memory, of the given format, or detected from its first bytes.
[[nodiscard]] Imported read_bytes(std::string_view bytes, const std::string& name,
                                  std::optional<Format> format = std::nullopt);

}  // namespace geiger::imports
