// Files of traces: read by position, written so that they appear whole, and what can go wrong with
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/outcome.h"
#include "base/unique_fd.h"
#include "trace/reader.h"

namespace geiger::ingest {

// What can go wrong with files, in one line each.

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

// A file opened for reading by position.
//
// Read by pread into memory of ours, never mapped: a file that is truncated while it is read gives
// a short read here, where a mapping would give SIGBUS. The copy costs less than decoding does, and
// windows keep it small.

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

// A file that appears under its name only when it is whole.

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
  /// Gives it this owner and group, and has it on the disk before commit() replaces another file.
  [[nodiscard]] FileOutcome make_durable(unsigned owner, unsigned group);
  /// Gives it its name. An existing file is an error unless `replace`.
  [[nodiscard]] FileOutcome commit(bool replace);

 private:
  std::string path_;
  std::string temporary_;  ///< Empty when there is nothing to remove.
  int descriptor_ = -1;
};

}  // namespace geiger::ingest
