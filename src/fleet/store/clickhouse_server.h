// A database of a ClickHouse server, over its HTTP interface.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/outcome.h"
#include "http/client.h"

namespace geiger::fleet {

// Rows as ClickHouse answers: TabSeparated, a line each. Arrays are asked for as text.

/// As sqlite::Statement: columns from 0. What is not a number reads as 0.
class TabRow {
 public:
  explicit TabRow(std::string_view line);

  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint64_t number(int column) const;

 private:
  [[nodiscard]] std::string_view field(int column) const;

  std::vector<std::string_view> fields_;
};

/// Cuts pieces of an answer into rows.
class TabRows {
 public:
  using Take = std::function<void(const TabRow& row)>;
  explicit TabRows(Take take) : take_(std::move(take)) {}

  void add(std::string_view piece);
  /// Whether the last row was whole.
  [[nodiscard]] bool is_whole() const { return begun_.empty(); }

 private:
  Take take_;
  std::string begun_;
};

/// What a server answered instead of a result, or why there was no answer.
class ServerError : public std::runtime_error {
 public:
  enum class Cause : std::uint8_t {
    kOther,
    kForbidden,  ///< The user may not do this.
    kMissing,    ///< The database or table does not exist.
  };
  explicit ServerError(const std::string& what, Cause cause = Cause::kOther)
      : std::runtime_error(what), cause_(cause) {}

  [[nodiscard]] bool is_forbidden() const { return cause_ == Cause::kForbidden; }
  [[nodiscard]] bool is_missing() const { return cause_ == Cause::kMissing; }

 private:
  Cause cause_;
};

class ClickHouseServer {
 public:
  /// "clickhouse+http(s)://[USER@]HOST[:PORT]/DATABASE". `token_file` has the user's password;
  /// empty: none.
  [[nodiscard]] static base::Outcome<std::unique_ptr<ClickHouseServer>> open(
      const std::string& url, std::string token_file, std::function<bool()> stops);

  // These throw ServerError.

  void ask(const std::string& query, const TabRows::Take& take);
  /// The first column of the first row; 0 without rows.
  [[nodiscard]] std::uint64_t number_of(const std::string& query);
  void execute(const std::string& statement);
  /// The same rows once more change nothing. `columns`: "a, b".
  void insert(const std::string& table, const std::string& columns, std::string_view row_binary);
  /// Whether it knows a setting.
  [[nodiscard]] bool has_setting(const std::string& name);
  [[nodiscard]] std::optional<std::int64_t> time();

  [[nodiscard]] const std::string& database() const { return database_; }
  /// As requests for another database of the server: "" is none.
  void without_database(const std::string& statement);

 private:
  ClickHouseServer(std::unique_ptr<http::Client> client, std::string user, std::string database,
                   std::string token_file)
      : client_(std::move(client)),
        user_(std::move(user)),
        database_(std::move(database)),
        token_file_(std::move(token_file)) {}

  [[nodiscard]] std::string target(std::string_view parameters) const;
  http::Answer send(http::Request request);

  std::unique_ptr<http::Client> client_;
  std::string user_, database_, token_file_;
  std::optional<bool> has_async_insert_;
};

inline constexpr std::string_view kClickHouseScheme = "clickhouse+";

/// A literal of SQL.
[[nodiscard]] std::string quoted(std::string_view text);

// The tables in a ClickHouse server.

/// A statement of the schema as servers before version 20 take it: without codecs, LowCardinality,
/// TTL and settings.
[[nodiscard]] std::string for_old_servers(std::string statement);

/// Makes the database and its tables, or brings them up to date. Throws ServerError.
void make_tables(ClickHouseServer& server);

/// Whether the tables are those that this geiger knows.
[[nodiscard]] base::Outcome<void> check_tables(ClickHouseServer& server);

/// Says how to make them.
[[nodiscard]] base::Failure missing_tables(const ClickHouseServer& server);

}  // namespace geiger::fleet
