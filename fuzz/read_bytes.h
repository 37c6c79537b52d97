// Bytes as a trace file, without a file system: the readers want a path.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "analysis/ingest/ingest.h"
#include "target.h"

namespace geiger::fuzz {

/// Reads `bytes` as geiger reads a trace file.
inline ingest::Ingested read_bytes(std::string_view bytes) {
  static const int file = ::memfd_create("input", MFD_CLOEXEC);
  require(file >= 0, "memfd_create works");
  require(::ftruncate(file, 0) == 0, "a file can be cut");
  const ssize_t put = ::pwrite(file, bytes.data(), bytes.size(), 0);
  require(put == static_cast<ssize_t>(bytes.size()), "a file can be written");
  const std::array<std::string, 1> paths{"/proc/self/fd/" + std::to_string(file)};
  return ingest::read_recording(paths);
}

}  // namespace geiger::fuzz
