// Rows as ClickHouse answers: TabSeparated, a line each. Arrays are asked for as text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace geiger::fleet {

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

}  // namespace geiger::fleet
