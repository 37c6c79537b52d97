// Reads trace files into a recording, and finds the process images that two recordings have in
// common.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/ingest/files.h"
#include "analysis/ingest/traces.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::ingest {

// Reads trace files into a recording.

/// Encoded observations of a running process (observation_chunk.h), by its trace.
using Observe = std::function<std::string(const std::string& path, std::uint32_t pid)>;

class Image;
class InputFile;
/// The same by an image that a process wrote; empty: none.
using ObserveImage = std::function<std::string(const InputFile& file, const Image& image)>;

struct Options {
  bool read_chunks = true;  ///< Also unpack stored symbols and observations.
  /// Objects that an interpreter frees while it finalizes are freed; else they are live at the end
  /// (profile::end_at_finalization).
  bool includes_finalization = false;
  /// Asked for every process that still writes its trace, before that is read; may be empty.
  Observe observe;
  /// Asked for every image, ended or not.
  ObserveImage observe_image;
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

// Process images that two recordings have in common, such as copies of a trace that still grows.

/// Tells process images apart: pid, beginning, seed and program.
using ImageIdentity = std::tuple<std::uint32_t, Nanoseconds, std::uint64_t, std::string>;

/// Nothing for images of runtimes that recorded no beginning: these are never the same.
[[nodiscard]] std::optional<ImageIdentity> identity_of(const profile::Process& process);

/// Pairs of indexes of the same process image, in two recordings that were read. Thins fates that
/// were thinned further in the other recording to its level, so that a sample is followed in both
/// or in neither.
std::vector<std::pair<std::uint32_t, std::uint32_t>> match_images(profile::Recording& before,
                                                                  profile::Recording& after);

}  // namespace geiger::ingest
