#include "fleet/store/tab_rows.h"

#include <charconv>
#include <utility>

namespace geiger::fleet {
namespace {

char meant_by(char escaped) {
  switch (escaped) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'r':
      return '\r';
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case '0':
      return '\0';
    default:
      return escaped;
  }
}

template <typename T>
T parsed(std::string_view text) {
  T value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

TabRow::TabRow(std::string_view line) {
  for (std::size_t tab = line.find('\t'); tab != std::string_view::npos; tab = line.find('\t')) {
    fields_.push_back(line.substr(0, tab));
    line.remove_prefix(tab + 1);
  }
  fields_.push_back(line);
}

std::string_view TabRow::field(int column) const {
  const auto place = static_cast<std::size_t>(column);
  return place < fields_.size() ? fields_[place] : std::string_view();
}

std::string TabRow::text(int column) const {
  const std::string_view escaped = field(column);
  std::string text;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    const bool is_escape = escaped[i] == '\\' && i + 1 < escaped.size();
    text += is_escape ? meant_by(escaped[++i]) : escaped[i];
  }
  return text;
}

std::int64_t TabRow::integer(int column) const { return parsed<std::int64_t>(field(column)); }

std::uint64_t TabRow::number(int column) const { return parsed<std::uint64_t>(field(column)); }

void TabRows::add(std::string_view piece) {
  for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
    if (begun_.empty()) {
      take_(TabRow(piece.substr(0, end)));
    } else {
      begun_.append(piece.substr(0, end));
      take_(TabRow(begun_));
      begun_.clear();
    }
    piece.remove_prefix(end + 1);
  }
  begun_.append(piece);
}

}  // namespace geiger::fleet
