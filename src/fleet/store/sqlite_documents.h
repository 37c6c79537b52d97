// Documents in the store's file: windows with their labels and counts. Throws sqlite::Error.
#pragma once

#include <cstdint>
#include <optional>

#include "fleet/store/sqlite_stacks.h"
#include "fleet/store/store.h"
#include "sqlite/database.h"

namespace geiger::fleet {

class SqliteDocuments {
 public:
  /// The tables must be there.
  explicit SqliteDocuments(sqlite::Database& database);

  /// Within a transaction. Writes nothing unless the document is stored.
  [[nodiscard]] Receipt put(const Document& document);
  [[nodiscard]] SqliteStacks& stacks() { return stacks_; }

 private:
  [[nodiscard]] std::optional<std::uint64_t> content_at(const Key& key);
  [[nodiscard]] std::int64_t put_window(const Document& document, std::uint64_t content);
  void put_counts(const Document& document, std::int64_t window);
  [[nodiscard]] std::int64_t cell_of(const CountRow& row);

  SqliteStacks stacks_;
  sqlite::Statement find_window_, put_window_, put_label_, put_count_, find_cell_, put_cell_;
};

}  // namespace geiger::fleet
