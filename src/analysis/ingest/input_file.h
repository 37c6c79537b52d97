// A file opened for reading by position.
//
// Read by pread into memory of ours, never mapped: a file that is truncated while it is read gives
// a short read here, where a mapping would give SIGBUS. The copy costs less than decoding does, and
// windows keep it small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "analysis/ingest/error.h"
#include "base/unique_fd.h"

namespace geiger::ingest {

/// Fills `buffer` from `offset` on; returns the bytes read, fewer at the file's end or where the
/// disk refuses.
[[nodiscard]] std::size_t read_at(int descriptor, std::uint64_t offset,
                                  std::span<std::byte> buffer);

class InputFile {
 public:
  /// Opens a regular file. Pipes, devices and others are errors, and are not even opened.
  [[nodiscard]] FileOutcome open(const std::string& path);
  /// As open(), of a regular file that the caller has opened for reading; closed: errno says why.
  [[nodiscard]] FileOutcome take(base::UniqueFd file, const std::string& path);

  [[nodiscard]] std::size_t read_at(std::uint64_t offset, std::span<std::byte> buffer) const {
    return ingest::read_at(descriptor_.get(), offset, buffer);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }  ///< Stays this file's.
  [[nodiscard]] std::uint64_t size() const { return size_; }          ///< When it was opened.
  [[nodiscard]] std::uint64_t inode() const { return inode_; }
  [[nodiscard]] unsigned mode() const { return mode_; }  ///< Permission bits.

 private:
  std::string path_;
  base::UniqueFd descriptor_;
  std::uint64_t size_ = 0;
  std::uint64_t inode_ = 0;
  unsigned mode_ = 0;
};

}  // namespace geiger::ingest
