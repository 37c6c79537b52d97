#include "fleet/store/schema.h"

#include "base/text.h"

namespace geiger::fleet {

namespace {

constexpr std::string_view kVersionLine = "-- version ";

}  // namespace

std::vector<SchemaSection> sections_of(std::string_view schema) {
  std::vector<SchemaSection> sections;
  std::string statement;
  while (!schema.empty()) {
    const std::string_view line = base::take_part(schema);
    if (line.starts_with(kVersionLine)) {
      const auto version = base::number_in<std::int64_t>(line.substr(kVersionLine.size()));
      sections.push_back({version.value_or(0), {}});
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
