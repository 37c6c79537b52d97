// Documents in the store's file: windows with their labels and counts. Throws sqlite::Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "fleet/document/rows.h"
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
  /// What was seen in a transaction that was undone may not be there.
  void forget() {
    stacks_.forget();
    cells_.clear();
  }

 private:
  [[nodiscard]] std::optional<std::uint64_t> content_at(const Key& key);
  [[nodiscard]] std::int64_t put_window(const Document& document, std::uint64_t content);
  void put_counts(const Document& document, std::int64_t window);
  void look_for_changes();
  [[nodiscard]] std::int64_t cell_of(const CountRow& row);
  [[nodiscard]] std::int64_t stored_cell(const CountRow& row);

  /// Looking for cells took half of the time of a collector. Bounded: a full one starts anew.
  static constexpr std::size_t kMostCells = 100'000;
  struct CellHash {
    std::size_t operator()(const RowKey& key) const;
  };

  SqliteStacks stacks_;
  std::unordered_map<RowKey, std::int64_t, CellHash> cells_;  ///< As of `version_`.
  std::int64_t version_ = 0;  ///< Differs once another connection has written.
  sqlite::Statement get_version_, find_window_, put_window_, put_label_, put_count_, put_counts_,
      find_cell_, put_cell_;
};

}  // namespace geiger::fleet
