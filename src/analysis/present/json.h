// A streaming JSON writer: what it writes is always one valid document.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "estimation/estimate.h"

namespace geiger::present {

/// Version of every document that `--json` prints (docs/json.md). A field is
/// added without a new version; one that changes or goes needs one.
inline constexpr int kSchemaVersion = 1;

/// Appends to a string. Strings are escaped and made valid UTF-8 (bytes that are
/// not become U+FFFD); numbers that JSON cannot hold (NaN, infinities) become
/// null. The caller balances begin and end, and calls key() inside objects only.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& string(std::string_view text);
  JsonWriter& number(double value);
  JsonWriter& integer(std::uint64_t value);
  JsonWriter& signed_integer(std::int64_t value);
  JsonWriter& boolean(bool value);

  /// {value, variance, lo, hi, samples, exact}.
  JsonWriter& estimate(const estimation::Estimate& estimate);

  JsonWriter& field(std::string_view name, std::string_view text) { return key(name).string(text); }
  JsonWriter& field(std::string_view name, const char* text) { return key(name).string(text); }
  JsonWriter& field(std::string_view name, double value) { return key(name).number(value); }
  JsonWriter& field(std::string_view name, const estimation::Estimate& value) {
    return key(name).estimate(value);
  }
  JsonWriter& field(std::string_view name, std::same_as<bool> auto value) {
    return key(name).boolean(value);
  }
  JsonWriter& field(std::string_view name, std::unsigned_integral auto value) requires(
      !std::same_as<decltype(value), bool>) {
    return key(name).integer(value);
  }
  JsonWriter& field(std::string_view name, std::signed_integral auto value) {
    return key(name).signed_integer(value);
  }

  /// The document so far, ended by a newline; the writer is empty afterwards.
  [[nodiscard]] std::string take();

  /// What was written since the last call, for documents that are not held whole; the document
  /// goes on. The last piece is take()'s.
  [[nodiscard]] std::string take_piece() { return std::exchange(out_, {}); }
  /// Bytes written since the last piece.
  [[nodiscard]] std::size_t piece_size() const { return out_.size(); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();

  std::string out_;
  bool needs_comma_ = false;
};

}  // namespace geiger::present
