// Documents in the store's file: windows with their labels and counts. Throws sqlite::Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "fleet/document/cut.h"
#include "fleet/document/document.h"
#include "fleet/document/recall.h"
#include "fleet/store/store.h"
#include "sqlite/database.h"

namespace geiger::fleet {

// The stacks of documents in the store's file: their locations, and the names of these. Throws
// sqlite::Error.

class SqliteStacks {
 public:
  /// The tables must be there.
  explicit SqliteStacks(sqlite::Database& database);

  /// Whether the stack's id is that of other locations.
  [[nodiscard]] bool has_other(const Stack& stack);
  /// Adds the stacks and locations that are not there.
  void put(const Document& document);
  /// Adds frames to a location that has none.
  void put_names(const Location& location);
  /// Hands over a stack that is known, after its locations.
  void load(StackId id, Recall& into);
  /// What was seen in a transaction that was undone may not be there.
  void forget() {
    seen_stacks_.clear();
    seen_locations_.clear();
  }

 private:
  [[nodiscard]] bool is_known(StackId stack);
  [[nodiscard]] bool is_same(const Stack& stack);
  void put_stack(const Stack& stack);
  void put_location(const Location& location);
  void put_frames(const Location& location);
  [[nodiscard]] bool has_frames(LocationId id);
  [[nodiscard]] Location location_of(LocationId id);

  // Documents bring their stacks each time, and reading these again took most of the time of a
  // collector. Bounded: a full one starts anew.
  static constexpr std::size_t kMostSeen = 100'000;
  /// Stacks that the tables have, with a second hash of their locations.
  std::unordered_map<StackId, std::uint64_t> seen_stacks_;
  /// Locations that the tables have, with the number of their frames that are there at least.
  std::unordered_map<LocationId, std::size_t> seen_locations_;

  sqlite::Statement find_stack_, get_stack_, put_stack_, put_stack_location_;
  sqlite::Statement get_location_, put_location_, get_frames_, put_frame_;
};

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
