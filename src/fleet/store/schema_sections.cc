#include "fleet/store/schema_sections.h"

#include <charconv>

namespace geiger::fleet {
namespace {

constexpr std::string_view kVersionLine = "-- version ";

std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::vector<SchemaSection> sections_of(std::string_view schema) {
  std::vector<SchemaSection> sections;
  std::string statement;
  while (!schema.empty()) {
    const std::string_view line = schema.substr(0, schema.find('\n'));
    schema.remove_prefix(std::min(schema.size(), line.size() + 1));
    if (line.starts_with(kVersionLine)) {
      sections.push_back({number_in(line.substr(kVersionLine.size())), {}});
    }
    std::string_view code = line.substr(0, line.find("--"));
    code = code.substr(0, code.find_last_not_of(' ') + 1);
    if (code.empty()) continue;
    const bool is_last = code.ends_with(';');
    if (is_last) code.remove_suffix(1);
    statement.append(code).append(1, '\n');
    if (!is_last) continue;
    sections.back().statements.push_back(std::move(statement));
    statement.clear();
  }
  return sections;
}

}  // namespace geiger::fleet
