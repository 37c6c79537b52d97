#include "analysis/export/sql/sql_insert.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "analysis/present/json.h"
#include "base/acting.h"
#include "base/utf8_text.h"

namespace geiger::exports {
namespace {

// Enough for the statement's own cost to vanish, far below any database's limit.
constexpr std::size_t kStatementBytes = 1 << 16;

std::string quoted_literal(std::string_view text) {
  std::string literal = "'";
  for (const char c : text) {
    if (c == '\'') literal += '\'';
    literal += c;
  }
  return literal + '\'';
}

/// Valid UTF-8 without NUL.
std::string storable(std::string_view text) {
  std::string stored;
  for (const char c : to_valid_utf8(text)) {
    if (c == '\0') {
      stored += "\xef\xbf\xbd";
    } else {
      stored += c;
    }
  }
  return stored;
}

/// The only escapes that SQLite and PostgreSQL have in common are those of JSON.
std::string escaped_expression(std::string_view text) {
  present::JsonWriter json;
  json.begin_object().field(text, std::uint64_t{0}).end_object();
  return "(SELECT key FROM json_each(" + quoted_literal(json.take_piece()) + "))";
}

}  // namespace

InsertWriter::InsertWriter(std::string_view table, const Sink& sink) : table_(table), sink_(sink) {}

InsertWriter& InsertWriter::begin_row() {
  statement_ += statement_.empty() ? fmt::format("INSERT INTO {} VALUES\n(", table_) : ",\n(";
  needs_comma_ = false;
  return *this;
}

void InsertWriter::separate() {
  if (needs_comma_) statement_ += ',';
  needs_comma_ = true;
}

InsertWriter& InsertWriter::integer(std::uint64_t value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return signed_integer(static_cast<std::int64_t>(std::min(value, kMost)));
}

InsertWriter& InsertWriter::signed_integer(std::int64_t value) {
  separate();
  statement_ += std::to_string(value);
  return *this;
}

InsertWriter& InsertWriter::number(double value) {
  separate();
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(statement_), "{}", value);
  } else {
    statement_ += "NULL";
  }
  return *this;
}

InsertWriter& InsertWriter::boolean(bool value) { return signed_integer(value ? 1 : 0); }

InsertWriter& InsertWriter::text(std::string_view value) {
  separate();
  const std::string stored = storable(value);
  statement_ += has_acting(stored) ? escaped_expression(stored) : quoted_literal(stored);
  return *this;
}

void InsertWriter::end_row() {
  statement_ += ')';
  if (statement_.size() >= kStatementBytes) finish();
}

void InsertWriter::finish() {
  if (statement_.empty()) return;
  statement_ += ";\n";
  sink_(statement_);
  statement_.clear();
}

}  // namespace geiger::exports
