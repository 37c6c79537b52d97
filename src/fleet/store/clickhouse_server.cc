#include "fleet/store/clickhouse_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "fleet/store/schema.h"
#include "http/client.h"

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

namespace {

constexpr std::string_view kPlainPort = "8123", kTlsPort = "8443";
constexpr int kUnknownTable = 60, kUnknownDatabase = 81, kReadonly = 164, kAccessDenied = 497;
constexpr long kUnauthorized = 401, kForbidden = 403;

std::string escaped_in_url(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '-';
    out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

bool is_identifier(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  });
}

/// "Code: 60, e.displayText() = DB::Exception: Table a.b doesn't exist., e.what() = DB::Exception"
ServerError error_of(const http::Answer& answer) {
  if (answer.status == 0) return ServerError(answer.problem);
  std::string_view text = answer.line;
  int code = 0;
  constexpr std::string_view kCode = "Code: ", kException = "DB::Exception: ", kEnd = ", e.what()";
  if (text.starts_with(kCode)) {
    std::from_chars(text.data() + kCode.size(), text.data() + text.size(), code);
  }
  if (const auto at = text.find(kException); at != std::string_view::npos) {
    text.remove_prefix(at + kException.size());
  }
  text = text.substr(0, text.find(kEnd));
  using Cause = ServerError::Cause;
  Cause cause = Cause::kOther;
  if (code == kUnknownTable || code == kUnknownDatabase) cause = Cause::kMissing;
  const bool is_forbidden = answer.status == kForbidden || answer.status == kUnauthorized ||
                            code == kReadonly || code == kAccessDenied;
  if (is_forbidden) cause = Cause::kForbidden;
  return ServerError(code != 0 ? std::string(text) : fmt::format("{} {}", answer.status, text),
                     cause);
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    if (c == '\0') {
      out += "\\0";
    } else {
      out += c;
    }
  }
  return out + "'";
}

base::Outcome<std::unique_ptr<ClickHouseServer>> ClickHouseServer::open(
    const std::string& text, std::string token_file, std::function<bool()> stops) {
  const auto url = GEIGER_TRY(http::parse_url(text.substr(kClickHouseScheme.size()))
                                  .with_prefix(std::string(kClickHouseScheme)));
  std::string database = url.path.empty() ? "" : url.path.substr(1);
  if (!is_identifier(database)) {
    return base::Failure{text + ": it names no database (clickhouse+https://HOST/DATABASE)"};
  }
  if (!token_file.empty()) GEIGER_TRY(http::read_token(token_file));
  const std::string_view usual = url.scheme == "http" ? kPlainPort : kTlsPort;
  auto client = GEIGER_TRY(
      http::make_client(fmt::format("{}://{}:{}/", url.scheme, url.host,
                                    url.port.empty() ? usual : std::string_view(url.port)),
                        std::move(stops)));
  return std::unique_ptr<ClickHouseServer>(new ClickHouseServer(
      std::move(client), url.user, std::move(database), std::move(token_file)));
}

std::string ClickHouseServer::target(std::string_view parameters) const {
  return fmt::format("?database={}{}", database_, parameters);
}

http::Answer ClickHouseServer::send(http::Request request) {
  if (!user_.empty()) request.headers.push_back("X-ClickHouse-User: " + user_);
  if (!token_file_.empty()) {
    // Read each time: it may be replaced.
    const auto token = http::read_token(token_file_);
    if (!token.has_value()) throw ServerError(token.reason());
    request.headers.push_back("X-ClickHouse-Key: " + token.value());
  }
  http::Answer answer = client_->send(request);
  if (!answer.is_ok()) throw error_of(answer);
  return answer;
}

void ClickHouseServer::ask(const std::string& query, const TabRows::Take& take) {
  TabRows rows(take);
  // The server answers once it has all: an error then has a status of its own, and does not come
  // amid the rows.
  send({.target = target("&wait_end_of_query=1"),
        .body = query,
        .take = [&](std::string_view piece) { rows.add(piece); },
        .is_question = true});
  if (!rows.is_whole()) throw ServerError("its answer was cut off");
}

std::uint64_t ClickHouseServer::number_of(const std::string& query) {
  std::optional<std::uint64_t> first;
  ask(query, [&](const TabRow& row) {
    if (!first) first = row.number(0);
  });
  return first.value_or(0);
}

void ClickHouseServer::execute(const std::string& statement) {
  ask(statement, [](const TabRow& /*row*/) {});
}

void ClickHouseServer::without_database(const std::string& statement) {
  send({.target = "?wait_end_of_query=1", .body = statement, .is_question = true});
}

bool ClickHouseServer::has_setting(const std::string& name) {
  try {
    return number_of("SELECT COUNT(*) FROM system.settings WHERE name = " + quoted(name)) > 0;
  } catch (const ServerError& error) {
    if (error.is_forbidden()) return false;
    throw;
  }
}

void ClickHouseServer::insert(const std::string& table, const std::string& columns,
                              std::string_view row_binary) {
  if (row_binary.empty()) return;
  if (!has_async_insert_) has_async_insert_ = has_setting("async_insert");
  const std::string query = fmt::format("INSERT INTO {} ({}) FORMAT RowBinary", table, columns);
  // With many hosts the server gathers small inserts; it answers once they are on its disk.
  send({.target = target(fmt::format(
            "{}&query={}", *has_async_insert_ ? "&async_insert=1&wait_for_async_insert=1" : "",
            escaped_in_url(query))),
        .headers = {"Content-Type: application/octet-stream"},
        .body = row_binary});
}

std::optional<std::int64_t> ClickHouseServer::time() {
  return client_->send({.target = "ping"}).date;
}

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
  constexpr std::string_view kColumn = "ADD COLUMN ", kUnlessThere = "IF NOT EXISTS ";
  for (auto at = statement.find(kColumn); at != std::string::npos;
       at = statement.find(kColumn, at + 1)) {
    if (statement.compare(at + kColumn.size(), kUnlessThere.size(), kUnlessThere) == 0) {
      statement.erase(at + kColumn.size(), kUnlessThere.size());
    }
  }
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
