#include "fleet/store/clickhouse_schema.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "fleet/store/schema_sections.h"
#include "fleet/store/schema_text.h"

namespace geiger::fleet {
namespace {

constexpr std::uint64_t kFirstModern = 20;

/// Removes a word and the text in brackets after it; what is in the brackets stays if `keeps`.
void strip(std::string& text, std::string_view word, bool keeps) {
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
    std::size_t end = at + word.size();
    for (int depth = 1; depth > 0; ++end) depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    const std::string inner = text.substr(at + word.size(), end - 1 - at - word.size());
    text.replace(at, end - at, keeps ? inner : "");
  }
}

bool is_modern(ClickHouseServer& server) {
  return server.number_of("SELECT toUInt64(splitByChar('.', version())[1])") >= kFirstModern;
}

}  // namespace

std::string for_old_servers(std::string statement) {
  strip(statement, " CODEC(", false);
  strip(statement, "LowCardinality(", true);
  for (const std::string_view clause : {"TTL ", "SETTINGS "}) {
    const auto at = statement.find(clause);
    if (at != std::string::npos) statement.erase(at, statement.find('\n', at) - at);
  }
  return statement;
}

void make_tables(ClickHouseServer& server) {
  server.without_database("CREATE DATABASE IF NOT EXISTS " + server.database());
  const bool has_all = is_modern(server);
  std::uint64_t known = 0;
  try {
    known = server.number_of("SELECT MAX(version) FROM schema_versions");
  } catch (const ServerError& error) {
    if (!error.is_missing()) throw;
  }
  for (const SchemaSection& section : sections_of(kClickHouseSchema)) {
    if (static_cast<std::uint64_t>(section.version) <= known) continue;
    for (const std::string& statement : section.statements) {
      server.execute(has_all ? statement : for_old_servers(statement));
    }
    server.execute(
        fmt::format("INSERT INTO schema_versions (version) VALUES ({})", section.version));
  }
}

base::Outcome<void> check_tables(ClickHouseServer& server) {
  const auto latest = static_cast<std::uint64_t>(sections_of(kClickHouseSchema).back().version);
  try {
    const std::uint64_t version = server.number_of("SELECT MAX(version) FROM schema_versions");
    if (version == 0 || version < latest) return missing_tables(server);
    if (version == latest) return {};
    return base::Failure{
        fmt::format("a newer geiger made it (schema {}, known up to {})", version, latest)};
  } catch (const ServerError& error) {
    if (error.is_missing()) return missing_tables(server);
    return base::Failure{error.what()};
  }
}

base::Failure missing_tables(const ClickHouseServer& server) {
  return {
      fmt::format("the database {} lacks tables of geiger: 'geiger fleet init --store URL' makes "
                  "them",
                  server.database())};
}

}  // namespace geiger::fleet
