#include "fleet/store/sqlite_documents.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "fleet/document/encoding.h"

namespace geiger::fleet {

namespace {

/// Keyed by chance, and so independent of the hash that makes ids.
std::uint64_t second_hash_of(const Stack& stack) {
  std::uint64_t hash = profile::spread(profile::table_seed(), stack.locations.size());
  for (const LocationId location : stack.locations) hash = profile::spread(hash, location);
  return hash;
}

template <typename Table, typename Key, typename Value>
void remember(Table& table, const Key& key, const Value& value, std::size_t most) {
  if (table.size() >= most) table.clear();
  table[key] = value;
}

}  // namespace

SqliteStacks::SqliteStacks(sqlite::Database& database)
    : find_stack_(database.prepare("SELECT truncated FROM stacks WHERE stack_id = ?")),
      get_stack_(database.prepare(
          "SELECT location_id FROM stack_locations WHERE stack_id = ? ORDER BY position")),
      put_stack_(database.prepare("INSERT INTO stacks VALUES (?, ?)")),
      put_stack_location_(database.prepare("INSERT INTO stack_locations VALUES (?, ?, ?)")),
      get_location_(database.prepare(
          "SELECT kind, build_id, module, address FROM locations WHERE location_id = ?")),
      put_location_(database.prepare("INSERT OR IGNORE INTO locations VALUES (?, ?, ?, ?, ?)")),
      get_frames_(database.prepare("SELECT function, system_name, file, line FROM frames WHERE "
                                   "location_id = ? ORDER BY position")),
      put_frame_(database.prepare("INSERT OR IGNORE INTO frames VALUES (?, ?, ?, ?, ?, ?)")) {}

bool SqliteStacks::has_other(const Stack& stack) {
  const std::uint64_t hash = second_hash_of(stack);
  const auto seen = seen_stacks_.find(stack.id);
  if (seen != seen_stacks_.end()) return seen->second != hash;
  if (!is_known(stack.id)) return false;
  if (!is_same(stack)) return true;
  remember(seen_stacks_, stack.id, hash, kMostSeen);
  return false;
}

void SqliteStacks::put(const Document& document) {
  for (const Stack& stack : document.stacks) {
    if (seen_stacks_.contains(stack.id) || is_known(stack.id)) continue;
    put_stack(stack);
    remember(seen_stacks_, stack.id, second_hash_of(stack), kMostSeen);
  }
  for (const Location& location : document.locations) {
    const std::size_t frames = location.frames.size();
    const auto seen = seen_locations_.find(location.id);
    if (seen != seen_locations_.end() && seen->second >= frames) continue;
    put_location(location);
    remember(seen_locations_, location.id, frames, kMostSeen);
  }
}

bool SqliteStacks::is_known(StackId stack) {
  sqlite::Statement& find = find_stack_.reset().bind(stack);
  const bool is_known = find.next();
  find.reset();
  return is_known;
}

bool SqliteStacks::is_same(const Stack& stack) {
  sqlite::Statement& get = get_stack_.reset().bind(stack.id);
  std::size_t depth = 0;
  bool is_same = true;
  while (get.next()) {
    is_same = is_same && depth < stack.locations.size() && get.number(0) == stack.locations[depth];
    ++depth;
  }
  get.reset();
  return is_same && depth == stack.locations.size();
}

void SqliteStacks::put_stack(const Stack& stack) {
  put_stack_.reset().bind(stack.id).bind(stack.is_truncated).run();
  std::int64_t position = 0;
  for (const LocationId location : stack.locations) {
    put_stack_location_.reset().bind(stack.id).bind(position++).bind(location).run();
  }
}

void SqliteStacks::put_location(const Location& location) {
  put_location_.reset()
      .bind(location.id)
      .bind(static_cast<std::int64_t>(location.kind))
      .bind(location.build_id)
      .bind(location.module)
      .bind(location.address)
      .run();
  put_frames(location);
}

void SqliteStacks::put_names(const Location& location) {
  if (!has_frames(location.id)) put_frames(location);
}

bool SqliteStacks::has_frames(LocationId id) {
  sqlite::Statement& frames = get_frames_.reset().bind(id);
  const bool has_some = frames.next();
  frames.reset();
  return has_some;
}

void SqliteStacks::put_frames(const Location& location) {
  std::int64_t position = 0;
  for (const profile::Frame& frame : location.frames) {
    put_frame_.reset()
        .bind(location.id)
        .bind(position++)
        .bind(frame.function)
        .bind(frame.system_name)
        .bind(frame.file)
        .bind(frame.line)
        .run();
  }
}

void SqliteStacks::load(StackId id, Recall& into) {
  sqlite::Statement& find = find_stack_.reset().bind(id);
  if (!find.next()) return;
  Stack stack;
  stack.id = id;
  stack.is_truncated = find.integer(0) != 0;
  sqlite::Statement& get = get_stack_.reset().bind(id);
  while (get.next()) stack.locations.push_back(get.number(0));
  for (const LocationId location : stack.locations) {
    if (!into.has_location(location)) into.add_location(location_of(location));
  }
  into.add_stack(stack);
}

Location SqliteStacks::location_of(LocationId id) {
  Location location;
  location.id = id;
  sqlite::Statement& get = get_location_.reset().bind(id);
  if (get.next()) {
    location.kind = static_cast<profile::ModuleKind>(get.integer(0));
    location.build_id = get.text(1);
    location.module = get.text(2);
    location.address = get.number(3);
  }
  sqlite::Statement& frames = get_frames_.reset().bind(id);
  while (frames.next()) {
    location.frames.push_back({frames.text(0), frames.text(1), frames.text(2),
                               static_cast<std::uint32_t>(frames.number(3))});
  }
  return location;
}

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
          "executable, content, received, began_ms, unsettled_before) VALUES (?, ?, ?, ?, ?, ?, ?, "
          "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, unixepoch(), ?, ?)")),
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
  put.bind(window.began_ms).bind(window.unsettled_before);
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
