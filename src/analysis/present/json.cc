#include "analysis/present/json.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <utility>

#include "analysis/present/measure.h"
#include "base/utf8.h"
#include "base/utf8_text.h"

namespace geiger::present {
namespace {

/// Beyond 16 bits as two surrogates (RFC 8259, 7).
void append_number(std::string& out, char32_t value) {
  constexpr char32_t kFirstBeyond = 0x10000;
  if (value >= kFirstBeyond) {
    append_number(out, 0xd800 + ((value - kFirstBeyond) >> 10));
    value = 0xdc00 + ((value - kFirstBeyond) & 0x3ff);
  }
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(value));
}

void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    if (!point.is_valid) {
      out += "\xef\xbf\xbd";
    } else if (point.value == U'"' || point.value == U'\\') {
      (out += '\\') += static_cast<char>(point.value);
    } else if (is_acting(point.value)) {
      // JSON is printed on terminals too.
      append_number(out, point.value);
    } else {
      out += text.substr(0, point.length);
    }
    text.remove_prefix(point.length);
  }
}

}  // namespace

void JsonWriter::separate() {
  if (needs_comma_) out_ += ',';
  needs_comma_ = true;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_ += bracket;
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  string(name);
  out_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view text) {
  separate();
  out_ += '"';
  append_escaped(out_, text);
  out_ += '"';
  return *this;
}

JsonWriter& JsonWriter::number(double value) {
  separate();
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out_), "{}", value);
  } else {
    out_ += "null";
  }
  return *this;
}

JsonWriter& JsonWriter::integer(std::uint64_t value) {
  separate();
  out_ += std::to_string(value);
  return *this;
}

JsonWriter& JsonWriter::signed_integer(std::int64_t value) {
  separate();
  out_ += std::to_string(value);
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::estimate(const estimation::Estimate& estimate) {
  write_value(*this, estimate);
  return *this;
}

std::string JsonWriter::take() {
  needs_comma_ = false;
  return std::exchange(out_, {}) + "\n";
}

}  // namespace geiger::present
