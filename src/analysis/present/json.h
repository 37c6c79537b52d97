// A streaming JSON writer: what it writes is always one valid document.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "estimation/estimate.h"

namespace geiger::present {

/// Version of every document that `--json` prints (docs/guide/json.md). A field is
/// added without a new version; one that changes or goes needs one.
inline constexpr int kSchemaVersion = 1;

/// Appends to a string. Strings are escaped and made valid UTF-8 (bytes that are
/// not become U+FFFD); numbers that JSON cannot hold (NaN, infinities) become
/// null. The caller balances begin and end, and calls key() inside objects only.
class JsonWriter {
 public:
  JsonWriter() = default;
  /// Opens a document of `--json` with its version and the name of the report; finish() ends it.
  explicit JsonWriter(std::string_view report) {
    begin_object().field("schema_version", kSchemaVersion).field("report", report);
  }

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

  /// An object whose fields `write()` writes.
  template <typename Write>
  JsonWriter& object(std::string_view name, const Write& write) {
    key(name).begin_object();
    write();
    return end_object();
  }
  /// An array to which `write(item)` adds a value for each of `items`.
  template <typename Items, typename Write>
  JsonWriter& array(std::string_view name, const Items& items, const Write& write) {
    key(name).begin_array();
    for (const auto& item : items) write(item);
    return end_array();
  }
  /// An array of objects: `write(item)` writes the fields of one.
  template <typename Items, typename Write>
  JsonWriter& objects(std::string_view name, const Items& items, const Write& write) {
    return array(name, items, [&](const auto& item) {
      begin_object();
      write(item);
      end_object();
    });
  }

  /// Ends the object that the constructor opened; then as take().
  [[nodiscard]] std::string finish() {
    end_object();
    return take();
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
