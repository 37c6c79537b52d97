#include "fleet/store/sqlite_documents.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/profile/hash.h"
#include "fleet/document/encoding.h"

namespace geiger::fleet {
namespace {

/// Most of an insertion's time is that of its start.
constexpr std::size_t kAtOnce = 16;

std::string insertion_of(std::size_t rows) {
  std::string text = "INSERT INTO window_counts VALUES (?, ?, ?, ?)";
  for (std::size_t i = 1; i < rows; ++i) text += ", (?, ?, ?, ?)";
  return text;
}

}  // namespace

SqliteDocuments::SqliteDocuments(sqlite::Database& database)
    : stacks_(database),
      get_version_(database.prepare("PRAGMA data_version")),
      find_window_(database.prepare("SELECT content FROM windows WHERE service = ? AND version = ? "
                                    "AND host = ? AND process = ? AND started = ?")),
      put_window_(database.prepare(
          "INSERT INTO windows (service, version, host, process, started, recorded_ms, alive_ms, "
          "from_start, is_pure, step, thinning, seed, exact_bytes, unsettled_bytes, "
          "rss_byte_seconds, trials, hits, dropped, row_count, samples, sequence, skew_ms, "
          "executable, content, received) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
          "?, ?, ?, ?, ?, ?, ?, ?, ?, unixepoch())")),
      put_label_(database.prepare("INSERT INTO window_labels VALUES (?, ?, ?)")),
      put_count_(database.prepare(insertion_of(1))),
      put_counts_(database.prepare(insertion_of(kAtOnce))),
      find_cell_(database.prepare("SELECT cell_id FROM cells WHERE stack_id = ? AND size = ? AND "
                                  "step = ? AND thinning = ? AND certain = ?")),
      put_cell_(database.prepare("INSERT INTO cells (stack_id, size, step, thinning, certain) "
                                 "VALUES (?, ?, ?, ?, ?)")) {}

Receipt SqliteDocuments::put(const Document& document) {
  const std::uint64_t content = content_of(document);
  if (const auto known = content_at(document.window.key)) {
    return *known == content ? Receipt::kKnown : Receipt::kOtherContents;
  }
  const auto has_other = [&](const Stack& stack) { return stacks_.has_other(stack); };
  if (std::ranges::any_of(document.stacks, has_other)) return Receipt::kOtherStack;
  stacks_.put(document);
  look_for_changes();
  const std::int64_t window = put_window(document, content);
  put_counts(document, window);
  return Receipt::kStored;
}

std::optional<std::uint64_t> SqliteDocuments::content_at(const Key& key) {
  sqlite::Statement& find = find_window_.reset();
  find.bind(key.service).bind(key.version).bind(key.host).bind(key.process).bind(key.started);
  std::optional<std::uint64_t> content;
  if (find.next()) content = find.number(0);
  find.reset();
  return content;
}

std::int64_t SqliteDocuments::put_window(const Document& document, std::uint64_t content) {
  const Window& window = document.window;
  std::uint64_t samples = 0;
  for (const CountRow& row : document.counts) samples += row.allocated;
  sqlite::Statement& put = put_window_.reset();
  put.bind(window.key.service).bind(window.key.version).bind(window.key.host);
  put.bind(window.key.process).bind(window.key.started);
  put.bind(window.recorded_ms).bind(window.alive_ms).bind(window.is_from_start);
  put.bind(window.is_pure).bind(window.interval).bind(window.thinning).bind(window.seed);
  put.bind(window.exact_bytes).bind(window.unsettled_bytes).bind(window.rss_byte_seconds);
  put.bind(window.trials).bind(window.hits).bind(window.dropped);
  put.bind(std::uint64_t{document.counts.size()}).bind(samples).bind(window.sequence);
  put.bind(std::int64_t{window.skew_ms}).bind(window.executable).bind(content);
  const std::int64_t id = put.insert();
  for (const auto& [name, value] : window.labels) {
    put_label_.reset().bind(id).bind(name).bind(value).run();
  }
  return id;
}

/// In the order of their keys: SQLite then appends each row, without a search for its place.
void SqliteDocuments::put_counts(const Document& document, std::int64_t window) {
  std::vector<std::pair<std::int64_t, const CountRow*>> rows;
  for (const CountRow& row : document.counts) rows.emplace_back(cell_of(row), &row);
  std::ranges::sort(rows);
  for (std::size_t i = 0; i < rows.size();) {
    const std::size_t count = rows.size() - i < kAtOnce ? 1 : kAtOnce;
    sqlite::Statement& put = (count == 1 ? put_count_ : put_counts_).reset();
    for (const std::size_t end = i + count; i < end; ++i) {
      const auto& [cell, row] = rows[i];
      put.bind(window).bind(cell).bind(row->allocated).bind(row->live);
    }
    put.run();
  }
}

/// `geiger fleet maintain` deletes cells.
void SqliteDocuments::look_for_changes() {
  get_version_.reset();
  const std::int64_t latest = get_version_.next() ? get_version_.integer(0) : 0;
  get_version_.reset();
  if (std::exchange(version_, latest) != latest) cells_.clear();
}

std::size_t SqliteDocuments::CellHash::operator()(const RowKey& key) const {
  const auto& [stack, size, interval, thinning, is_certain] = key;
  std::uint64_t hash = profile::table_seed();
  for (const std::uint64_t part : {stack, size, interval}) hash = profile::spread(hash, part);
  return profile::spread(hash, std::uint64_t{thinning} << 1 | std::uint64_t{is_certain});
}

std::int64_t SqliteDocuments::cell_of(const CountRow& row) {
  if (cells_.size() >= kMostCells) cells_.clear();
  const auto [at, is_new] = cells_.try_emplace(
      {row.stack, row.size, row.interval, row.thinning, row.is_certain}, std::int64_t{0});
  if (is_new) at->second = stored_cell(row);
  return at->second;
}

std::int64_t SqliteDocuments::stored_cell(const CountRow& row) {
  const auto bind_to = [&](sqlite::Statement& statement) -> sqlite::Statement& {
    return statement.reset()
        .bind(row.stack)
        .bind(row.size)
        .bind(row.interval)
        .bind(row.thinning)
        .bind(row.is_certain);
  };
  sqlite::Statement& find = bind_to(find_cell_);
  if (find.next()) {
    const std::int64_t known = find.integer(0);
    find.reset();
    return known;
  }
  find.reset();
  return bind_to(put_cell_).insert();
}

}  // namespace geiger::fleet
