// SQLite with its statements as values. Failures are exceptions (sqlite::Error): callers turn them
// into outcomes where it suits them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "sqlite/functions.h"

namespace geiger::sqlite {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Statement {
 public:
  Statement(const Functions& functions, sqlite3* database, std::string_view text);

  /// Binds the next parameter, from the first on after reset().
  Statement& bind(std::string_view text);
  Statement& bind(std::int64_t number);
  Statement& bind(std::uint64_t number) { return bind(static_cast<std::int64_t>(number)); }
  Statement& bind(std::uint32_t number) { return bind(std::int64_t{number}); }
  Statement& bind(bool is_true) { return bind(std::int64_t{is_true}); }
  Statement& bind(const std::optional<std::uint64_t>& number);

  /// Whether there is a row (another one).
  [[nodiscard]] bool next();
  /// Runs it to its end and makes it ready to run again.
  void run();
  /// Runs an INSERT of one row, and returns the row's id. RETURNING would open a temporary table
  /// for each.
  [[nodiscard]] std::int64_t insert();
  /// Makes it ready to run again.
  Statement& reset();

  /// Of the row, from 0. NULL reads as 0 or "".
  [[nodiscard]] std::int64_t integer(int column) const {
    return functions_->column_int64(statement_.get(), column);
  }
  [[nodiscard]] std::uint64_t number(int column) const {
    return static_cast<std::uint64_t>(integer(column));
  }
  [[nodiscard]] std::string text(int column) const;

 private:
  void check(int result) const;

  const Functions* functions_;
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, decltype(Functions::finalize)> statement_;
  int bound_ = 0;
};

class Database {
 public:
  /// ":memory:" is a database in memory. A file that is made is for its owner alone, whatever the
  /// umask, and with it those that SQLite puts beside it. What the schema of a file says is not
  /// trusted: it can call no function that acts.
  Database(const std::string& path, int flags);

  void execute(const std::string& statements);
  [[nodiscard]] Statement prepare(std::string_view text) {
    return {functions_, handle_.get(), text};
  }
  [[nodiscard]] std::int64_t integer_of(std::string_view query);
  /// Calls `tick`, which must not throw, some hundred times a second while statements run; an empty
  /// one ends that.
  void watch(std::function<void()> tick);
  /// As a file would have it.
  [[nodiscard]] std::string serialized();

 private:
  void distrust();

  const Functions& functions_;
  std::function<void()> tick_;  ///< Outlives the handle, which calls it.
  std::unique_ptr<sqlite3, decltype(Functions::close)> handle_;
};

/// Everything from its making on is undone unless it is committed.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool is_open_ = true;
};

}  // namespace geiger::sqlite
