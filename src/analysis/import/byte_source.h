// The bytes of a file that may be compressed, in order, a window at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "analysis/ingest/error.h"

namespace geiger::imports {

/// Reads what is stored, up to the size of the buffer; less only at the end.
using ReadStored = std::function<std::size_t(std::span<std::byte>)>;

/// Most bytes that a file may unpack to; more would only keep the user waiting.
inline constexpr std::uint64_t kMostUnpacked = std::uint64_t{16} << 30;

/// Unpacks gzip and zstd, known by their first bytes; passes anything else through. Memory does
/// not depend on what there is to unpack.
class ByteSource {
 public:
  /// `path` is for messages only.
  ByteSource(std::string path, ReadStored read_stored);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Fills `buffer`; fewer bytes mean the end, or an error.
  [[nodiscard]] std::size_t read(std::span<std::byte> buffer);

  /// Why the bytes ended early: damage, more than kMostUnpacked.
  [[nodiscard]] const std::optional<ingest::Error>& error() const { return error_; }
  /// Stored bytes that were read, for showing how far it is.
  [[nodiscard]] std::uint64_t stored_bytes() const { return stored_; }

  class Unpacker;

 private:
  void fill();
  void fail(const char* reason);

  std::string path_;
  ReadStored read_stored_;
  std::unique_ptr<Unpacker> unpacker_;
  std::string window_;        ///< Stored bytes.
  std::size_t used_ = 0;      ///< Of the window.
  std::uint64_t stored_ = 0;  ///< Read so far.
  std::uint64_t unpacked_ = 0;
  bool is_at_end_ = false;  ///< Of what is stored.
  bool is_between_ = true;  ///< Of members: the end may come here.
  std::optional<ingest::Error> error_;
};

/// All of it, if it is at most `most` bytes; else the error says so.
[[nodiscard]] base::Outcome<std::string, ingest::Error> read_all(ByteSource& source,
                                                                 std::uint64_t most);

}  // namespace geiger::imports
