// The bytes of a file that may be compressed, a window at a time, and its text line by line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analysis/ingest/files.h"

namespace geiger::imports {

// The bytes of a file that may be compressed, in order, a window at a time.

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

// Text read line by line, and the numbers in it.

/// What editors of other systems put before text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Longer lines are damage: a stack of a thousand frames takes 20 KiB.
inline constexpr std::size_t kLongestLine = std::size_t{4} << 20;

class Lines {
 public:
  explicit Lines(ByteSource& source) : source_(source) {}

  /// The next line without its end and a byte order mark, valid until the next call; nothing at the
  /// end, or where error() is the reason if it stopped early.
  [[nodiscard]] std::optional<std::string_view> next();

  [[nodiscard]] std::uint64_t number() const { return number_; }  ///< Of that line, from 1.
  [[nodiscard]] const std::optional<ingest::Error>& error() const { return error_; }

 private:
  void refill();

  ByteSource& source_;
  std::string window_;
  std::size_t used_ = 0;
  std::uint64_t number_ = 0;
  bool is_at_end_ = false;
  std::optional<ingest::Error> error_;
};

/// Takes a number from the front of `text`, spaces before it skipped; nothing, and `text` as
/// it was, if there is none or it does not fit.
[[nodiscard]] std::optional<std::uint64_t> take_decimal(std::string_view& text);
/// With or without "0x".
[[nodiscard]] std::optional<std::uint64_t> take_hexadecimal(std::string_view& text);
/// Takes exactly `what` from the front of `text`, spaces before it skipped.
[[nodiscard]] bool take(std::string_view& text, std::string_view what);

/// Without the white space at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace geiger::imports
