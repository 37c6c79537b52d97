// Text read line by line, and the numbers in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/import/byte_source.h"

namespace geiger::imports {

/// Longer lines are damage: a stack of a thousand frames takes 20 KiB.
inline constexpr std::size_t kLongestLine = std::size_t{4} << 20;

class Lines {
 public:
  explicit Lines(ByteSource& source) : source_(source) {}

  /// The next line without its end, valid until the next call; nothing at the end, or where
  /// error() is the reason if it stopped early.
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
