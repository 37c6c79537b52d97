// Reads trace files into a recording.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/ingest/error.h"
#include "analysis/ingest/unbegun.h"
#include "analysis/profile/recording.h"

namespace geiger::ingest {

/// Encoded observations of a running process (observation_chunk.h), by its trace.
using Observe = std::function<std::string(const std::string& path, std::uint32_t pid)>;

struct Options {
  bool read_chunks = true;  ///< Also unpack stored symbols and observations.
  /// Asked for every process that still writes its trace, before that is read; may be empty.
  Observe observe;
  /// Bytes read so far, of those that the files have; may be empty.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

/// Stored symbols of one process, still encoded (analysis/symbolize decodes them).
struct SymbolPayload {
  std::uint32_t process = 0;  ///< Index into Recording::processes.
  std::string bytes;
};

/// The place of an image: a file may hold several, and a process may have several segments.
struct ImagePlace {
  std::string path;
  std::uint32_t image = 0;    ///< Position among the images of the file, from 0.
  std::uint32_t process = 0;  ///< Index into Recording::processes.
  bool is_last = true;        ///< Of its process: where store_chunks puts the process's chunks.
};

/// All that could be read; nothing that input can hold makes reading fail as a whole. Damage is a
/// line in recording.warnings; data before the damage is used.
struct Ingested {
  profile::Recording recording;
  std::vector<SymbolPayload> symbols;
  std::vector<ImagePlace> places;  ///< Of all images read, in order of processes and segments.
  /// Processes that were never recorded; recording.warnings has a line for each. No damage to
  /// the others.
  std::vector<Unbegun> unbegun;
  bool damaged = false;  ///< Something was unusable: exit code 1.
};

/// Reads traces; each path names a trace file or a run directory (all *.geiger files in it).
/// Segments of one process image make one process. A segment that rotation deletes meanwhile counts
/// as never there, as long as a later one exists. Samples are in order of (process, record).
[[nodiscard]] Ingested read_recording(std::span<const std::string> paths,
                                      const Options& options = {});

}  // namespace geiger::ingest
