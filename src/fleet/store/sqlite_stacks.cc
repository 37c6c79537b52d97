#include "fleet/store/sqlite_stacks.h"

#include "analysis/profile/hash.h"

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

}  // namespace geiger::fleet
