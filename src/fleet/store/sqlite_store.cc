// The store of a laptop, or of some hundred hosts: one file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "fleet/document/encoding.h"
#include "fleet/document/ids.h"
#include "fleet/store/schema_sections.h"
#include "fleet/store/schema_text.h"
#include "fleet/store/sqlite_sums.h"
#include "fleet/store/store.h"
#include "fleet/store/sum_queries.h"
#include "sqlite/database.h"

namespace geiger::fleet {
namespace {

/// "geig": which program a file of SQLite belongs to.
constexpr std::int64_t kApplicationId = 0x67656967;

/// The statements that run for each document, or for each row of one.
struct Prepared {
  explicit Prepared(sqlite::Database& database)
      : find_window(
            database.prepare("SELECT content FROM windows WHERE service = ? AND version = ? "
                             "AND host = ? AND process = ? AND started = ?")),
        put_window(database.prepare(
            "INSERT INTO windows (service, version, host, process, started, recorded_ms, alive_ms, "
            "from_start, is_pure, step, thinning, seed, exact_bytes, unsettled_bytes, "
            "rss_byte_seconds, trials, hits, dropped, row_count, samples, sequence, skew_ms, "
            "executable, content, received) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
            "?, "
            "?, ?, ?, ?, ?, ?, ?, ?, unixepoch()) RETURNING window_id")),
        put_label(database.prepare("INSERT INTO window_labels VALUES (?, ?, ?)")),
        put_count(database.prepare("INSERT INTO window_counts VALUES (?, ?, ?, ?)")),
        find_cell(database.prepare("SELECT cell_id FROM cells WHERE stack_id = ? AND size = ? AND "
                                   "step = ? AND thinning = ? AND certain = ?")),
        put_cell(database.prepare("INSERT INTO cells (stack_id, size, step, thinning, certain) "
                                  "VALUES (?, ?, ?, ?, ?) RETURNING cell_id")),
        find_stack(database.prepare("SELECT truncated FROM stacks WHERE stack_id = ?")),
        get_stack(database.prepare(
            "SELECT location_id FROM stack_locations WHERE stack_id = ? ORDER BY position")),
        put_stack(database.prepare("INSERT INTO stacks VALUES (?, ?)")),
        put_stack_location(database.prepare("INSERT INTO stack_locations VALUES (?, ?, ?)")),
        get_location(database.prepare(
            "SELECT kind, build_id, module, address FROM locations WHERE location_id = ?")),
        put_location(database.prepare("INSERT OR IGNORE INTO locations VALUES (?, ?, ?, ?, ?)")),
        get_frames(database.prepare("SELECT function, system_name, file, line FROM frames WHERE "
                                    "location_id = ? ORDER BY position")),
        put_frame(database.prepare("INSERT OR IGNORE INTO frames VALUES (?, ?, ?, ?, ?, ?)")) {}

  sqlite::Statement find_window, put_window, put_label, put_count, find_cell, put_cell;
  sqlite::Statement find_stack, get_stack, put_stack, put_stack_location;
  sqlite::Statement get_location, put_location, get_frames, put_frame;
};

/// Has a database call `tick` as long as it is there.
class Watched {
 public:
  Watched(sqlite::Database& database, std::function<void()> tick)
      : database_(database), is_watched_(static_cast<bool>(tick)) {
    if (is_watched_) database_.watch(std::move(tick));
  }
  ~Watched() {
    if (is_watched_) database_.watch({});
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  sqlite::Database& database_;
  bool is_watched_;
};

class SqliteStore final : public Store {
 public:
  SqliteStore(const std::string& path, bool creates)
      : database_(path, SQLITE_OPEN_READWRITE | (creates ? SQLITE_OPEN_CREATE : 0)) {
    // A document that was acknowledged survives a power cut.
    database_.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    const bool is_new = creates && database_.integer_of("SELECT COUNT(*) FROM sqlite_master") == 0;
    if (is_new) database_.execute(fmt::format("PRAGMA application_id = {}", kApplicationId));
    if (database_.integer_of("PRAGMA application_id") != kApplicationId) {
      throw sqlite::Error("it is a database of another program");
    }
    make_tables();
    prepared_.emplace(database_);
  }

  base::Outcome<Receipt> put(const Document& document) override {
    return guarded([&] {
      sqlite::Transaction transaction(database_);
      const Receipt receipt = put_document(document);
      transaction.commit();
      return receipt;
    });
  }

  base::Outcome<std::vector<Receipt>> put_all(const std::vector<Document>& documents) override {
    return guarded([&] {
      std::vector<Receipt> receipts;
      sqlite::Transaction transaction(database_);
      for (const Document& document : documents) receipts.push_back(put_document(document));
      transaction.commit();
      return receipts;
    });
  }

  base::Outcome<void> put(const GapRow& gap) override {
    return done([&] {
      database_
          .prepare(
              "INSERT INTO gaps VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET last = "
              "MAX(last, excluded.last)")
          .bind(gap.host)
          .bind(gap.process)
          .bind(gap.first)
          .bind(gap.last)
          .bind(gap.reason)
          .run();
    });
  }

  base::Outcome<void> count_refusal(const std::string& reason, std::uint64_t documents) override {
    return done([&] {
      database_
          .prepare(
              "INSERT INTO refusals VALUES (?, ?, unixepoch()) ON CONFLICT (reason) DO UPDATE "
              "SET documents = documents + excluded.documents, last = excluded.last")
          .bind(reason)
          .bind(documents)
          .run();
    });
  }

  base::Outcome<std::vector<VersionFacts>> versions() override {
    return guarded([&] {
      std::vector<VersionFacts> all;
      sqlite::Statement query = database_.prepare(versions_query("windows"));
      while (query.next()) all.push_back(read_version(query));
      return all;
    });
  }

  base::Outcome<std::vector<HostSums>> hosts(const Filter& filter) override {
    return guarded([&] { return sum_hosts(database_, filter); });
  }

  base::Outcome<void> rows_by_host(const Filter& filter, const TakeRow& take) override {
    return done([&] { sum_rows_by_host(database_, filter, take); });
  }

  base::Outcome<void> rows(const Filter& filter, const TakeRow& take) override {
    return done([&] { sum_rows(database_, filter, take); });
  }

  base::Outcome<std::vector<StepSums>> steps(const Filter& filter, std::int64_t length) override {
    return guarded([&] { return sum_steps(database_, filter, length); });
  }

  base::Outcome<void> rows_by_time(const Filter& filter, std::int64_t length,
                                   const TakeTimedRow& take) override {
    return done([&] { sum_rows_by_time(database_, filter, length, take); });
  }

  base::Outcome<std::vector<GapRow>> gaps(const Filter& filter) override {
    return guarded([&] { return find_gaps(database_, filter); });
  }

  base::Outcome<std::vector<std::string>> label_values(const Filter& filter,
                                                       const std::string& name) override {
    return guarded([&] { return find_label_values(database_, filter, name); });
  }

  base::Outcome<std::vector<Location>> unnamed() override {
    return guarded([&] { return find_unnamed(database_); });
  }

  base::Outcome<void> put_names(const std::vector<Location>& named) override {
    return done([&] {
      sqlite::Transaction transaction(database_);
      for (const Location& location : named) {
        if (!has_frames(location.id)) put_frames(location);
      }
      transaction.commit();
    });
  }

  base::Outcome<std::vector<StackId>> stacks_without_sites() override {
    return guarded([&] {
      std::vector<StackId> ids;
      sqlite::Statement query = database_.prepare(
          "SELECT stack_id FROM stacks WHERE stack_id NOT IN (SELECT stack_id FROM sites WHERE "
          "has_names = 1) ORDER BY stack_id");
      while (query.next()) ids.push_back(query.number(0));
      std::ranges::sort(ids);  // SQLite's numbers are signed.
      return ids;
    });
  }

  base::Outcome<void> put_sites(const std::vector<SiteRow>& sites) override {
    return done([&] {
      sqlite::Transaction transaction(database_);
      sqlite::Statement put =
          database_.prepare("INSERT OR REPLACE INTO sites VALUES (?, ?, ?, ?, ?)");
      for (const SiteRow& site : sites) {
        put.reset().bind(site.stack).bind(site.function).bind(site.module);
        put.bind(fmt::format("{}", fmt::join(site.path, "\n"))).bind(site.has_names).run();
      }
      transaction.commit();
    });
  }

  base::Outcome<Upkeep> maintain(const Retention& retention) override {
    return guarded([&] { return drop_old(retention.first_day); });
  }

  base::Outcome<void> load_stacks(const std::vector<StackId>& stacks, Recall& into) override {
    return done([&] {
      for (const StackId id : stacks) load_stack(id, into);
    });
  }

  base::Outcome<Health> health() override {
    return guarded([&] { return ask_health(); });
  }

 private:
  /// What `work` returns, or why the database could not do it.
  template <typename Work>
  auto guarded(const Work& work) -> base::Outcome<decltype(work())> {
    const Watched watched(database_, begin());
    try {
      return work();
    } catch (const sqlite::Error& error) {
      return base::Failure{std::string("SQLite: ") + error.what()};
    }
  }
  template <typename Work>
  base::Outcome<void> done(const Work& work) {
    const Watched watched(database_, begin());
    try {
      work();
      return {};
    } catch (const sqlite::Error& error) {
      return base::Failure{std::string("SQLite: ") + error.what()};
    }
  }

  /// Those that are missing, in a file that is new or of an earlier version.
  void make_tables() {
    const auto sections = sections_of(kSqliteSchema);
    const std::int64_t latest = sections.back().version;
    const auto known = [&] { return database_.integer_of("PRAGMA user_version"); };
    if (known() == latest) return;
    sqlite::Transaction transaction(database_);
    const std::int64_t version = known();  // Another process may have been here first.
    if (version > latest) {
      throw sqlite::Error(
          fmt::format("a newer geiger made it (schema {}, known up to {})", version, latest));
    }
    for (const SchemaSection& section : sections) {
      if (section.version <= version) continue;
      for (const std::string& statement : section.statements) database_.execute(statement);
    }
    database_.execute(fmt::format("PRAGMA user_version = {}", latest));
    transaction.commit();
  }

  /// Within a transaction. Writes nothing unless it is stored.
  Receipt put_document(const Document& document) {
    const std::uint64_t content = content_of(document);
    if (const auto known = content_at(document.window.key)) {
      return *known == content ? Receipt::kKnown : Receipt::kOtherContents;
    }
    const auto has_other_locations = [&](const Stack& stack) {
      return is_known(stack.id) && !is_same(stack);
    };
    if (std::ranges::any_of(document.stacks, has_other_locations)) return Receipt::kOtherStack;
    put_stacks(document);
    const std::int64_t window = put_window(document, content);
    put_counts(document, window);
    return Receipt::kStored;
  }

  std::optional<std::uint64_t> content_at(const Key& key) {
    sqlite::Statement& find = prepared_->find_window.reset();
    find.bind(key.service).bind(key.version).bind(key.host).bind(key.process).bind(key.started);
    std::optional<std::uint64_t> content;
    if (find.next()) content = find.number(0);
    find.reset();
    return content;
  }

  std::int64_t put_window(const Document& document, std::uint64_t content) {
    const Window& window = document.window;
    std::uint64_t samples = 0;
    for (const CountRow& row : document.counts) samples += row.allocated;
    sqlite::Statement& put = prepared_->put_window.reset();
    put.bind(window.key.service).bind(window.key.version).bind(window.key.host);
    put.bind(window.key.process).bind(window.key.started);
    put.bind(window.recorded_ms).bind(window.alive_ms).bind(window.is_from_start);
    put.bind(window.is_pure).bind(window.interval).bind(window.thinning).bind(window.seed);
    put.bind(window.exact_bytes).bind(window.unsettled_bytes).bind(window.rss_byte_seconds);
    put.bind(window.trials).bind(window.hits).bind(window.dropped);
    put.bind(std::uint64_t{document.counts.size()}).bind(samples).bind(window.sequence);
    put.bind(std::int64_t{window.skew_ms}).bind(window.executable).bind(content);
    const std::int64_t id = put.next() ? put.integer(0) : 0;
    put.run();
    for (const auto& [name, value] : window.labels) {
      prepared_->put_label.reset().bind(id).bind(name).bind(value).run();
    }
    return id;
  }

  void put_counts(const Document& document, std::int64_t window) {
    for (const CountRow& row : document.counts) {
      const std::int64_t cell = cell_of(row);
      prepared_->put_count.reset().bind(window).bind(cell).bind(row.allocated).bind(row.live).run();
    }
  }

  std::int64_t cell_of(const CountRow& row) {
    const auto bind_to = [&](sqlite::Statement& statement) -> sqlite::Statement& {
      return statement.reset()
          .bind(row.stack)
          .bind(row.size)
          .bind(row.interval)
          .bind(row.thinning)
          .bind(row.is_certain);
    };
    sqlite::Statement& find = bind_to(prepared_->find_cell);
    if (find.next()) {
      const std::int64_t known = find.integer(0);
      find.reset();
      return known;
    }
    find.reset();
    sqlite::Statement& put = bind_to(prepared_->put_cell);
    const std::int64_t id = put.next() ? put.integer(0) : 0;
    put.run();
    return id;
  }

  void put_stacks(const Document& document) {
    for (const Stack& stack : document.stacks) {
      if (!is_known(stack.id)) put_stack(stack);
    }
    for (const Location& location : document.locations) put_location(location);
  }

  bool is_known(StackId stack) {
    sqlite::Statement& find = prepared_->find_stack.reset().bind(stack);
    const bool is_known = find.next();
    find.reset();
    return is_known;
  }

  bool is_same(const Stack& stack) {
    sqlite::Statement& get = prepared_->get_stack.reset().bind(stack.id);
    std::size_t depth = 0;
    bool is_same = true;
    while (get.next()) {
      is_same =
          is_same && depth < stack.locations.size() && get.number(0) == stack.locations[depth];
      ++depth;
    }
    get.reset();
    return is_same && depth == stack.locations.size();
  }

  void put_stack(const Stack& stack) {
    prepared_->put_stack.reset().bind(stack.id).bind(stack.is_truncated).run();
    std::int64_t position = 0;
    for (const LocationId location : stack.locations) {
      prepared_->put_stack_location.reset().bind(stack.id).bind(position++).bind(location).run();
    }
  }

  void put_location(const Location& location) {
    prepared_->put_location.reset()
        .bind(location.id)
        .bind(static_cast<std::int64_t>(location.kind))
        .bind(location.build_id)
        .bind(location.module)
        .bind(location.address)
        .run();
    put_frames(location);
  }

  bool has_frames(LocationId id) {
    sqlite::Statement& frames = prepared_->get_frames.reset().bind(id);
    const bool has_some = frames.next();
    frames.reset();
    return has_some;
  }

  void put_frames(const Location& location) {
    std::int64_t position = 0;
    for (const profile::Frame& frame : location.frames) {
      prepared_->put_frame.reset()
          .bind(location.id)
          .bind(position++)
          .bind(frame.function)
          .bind(frame.system_name)
          .bind(frame.file)
          .bind(frame.line)
          .run();
    }
  }

  void load_stack(StackId id, Recall& into) {
    sqlite::Statement& find = prepared_->find_stack.reset().bind(id);
    if (!find.next()) return;
    Stack stack;
    stack.id = id;
    stack.is_truncated = find.integer(0) != 0;
    sqlite::Statement& get = prepared_->get_stack.reset().bind(id);
    while (get.next()) stack.locations.push_back(get.number(0));
    for (const LocationId location : stack.locations) {
      if (!into.has_location(location)) into.add_location(location_of(location));
    }
    into.add_stack(stack);
  }

  Location location_of(LocationId id) {
    Location location;
    location.id = id;
    sqlite::Statement& get = prepared_->get_location.reset().bind(id);
    if (get.next()) {
      location.kind = static_cast<profile::ModuleKind>(get.integer(0));
      location.build_id = get.text(1);
      location.module = get.text(2);
      location.address = get.number(3);
    }
    sqlite::Statement& frames = prepared_->get_frames.reset().bind(id);
    while (frames.next()) {
      location.frames.push_back({frames.text(0), frames.text(1), frames.text(2),
                                 static_cast<std::uint32_t>(frames.number(3))});
    }
    return location;
  }

  /// A file keeps windows as they are, until they are dropped.
  Upkeep drop_old(std::int64_t first_day) {
    constexpr std::int64_t kDaySeconds = 86'400;
    const std::string old =
        fmt::format("(SELECT window_id FROM windows WHERE started < {})", first_day * kDaySeconds);
    Upkeep upkeep;
    sqlite::Transaction transaction(database_);
    upkeep.dropped_days = static_cast<std::uint64_t>(database_.integer_of(
        fmt::format("SELECT COUNT(DISTINCT started / {}) FROM windows WHERE started < {}",
                    kDaySeconds, first_day * kDaySeconds)));
    for (const char* table : {"window_counts", "window_labels", "windows"}) {
      database_.execute(fmt::format("DELETE FROM {} WHERE window_id IN {}", table, old));
    }
    database_.execute("DELETE FROM cells WHERE cell_id NOT IN (SELECT cell_id FROM window_counts)");
    transaction.commit();
    return upkeep;
  }

  Health ask_health() {
    const auto count = [&](std::string_view query) {
      return static_cast<std::uint64_t>(database_.integer_of(query));
    };
    Health health;
    health.incomplete_windows = count(
        "SELECT COUNT(*) FROM windows LEFT JOIN (SELECT window_id, COUNT(*) AS n, SUM(allocated) "
        "AS a "
        "FROM window_counts GROUP BY window_id) USING (window_id) "
        "WHERE row_count <> COALESCE(n, 0) OR samples <> COALESCE(a, 0)");
    health.shared_seeds = count(shared_seeds_query("windows"));
    health.unknown_stacks = count(
        "SELECT COUNT(DISTINCT stack_id) FROM cells WHERE stack_id NOT IN (SELECT stack_id FROM "
        "stacks)");
    health.unnamed_locations = count(
        "SELECT COUNT(*) FROM locations WHERE location_id NOT IN (SELECT location_id FROM frames)");
    health.gaps = count("SELECT COUNT(*) FROM gaps");
    sqlite::Statement refusals = database_.prepare("SELECT reason, documents FROM refusals");
    while (refusals.next()) health.refusals[refusals.text(0)] = refusals.number(1);
    return health;
  }

  sqlite::Database database_;
  std::optional<Prepared> prepared_;  ///< Once the tables are there.
};

}  // namespace

base::Outcome<std::unique_ptr<Store>> open_sqlite(const std::string& path, bool creates) {
  std::error_code error;
  if (!creates && !std::filesystem::exists(path, error)) {
    return base::Failure{path + ": no such file; 'geiger push RUN " + path + "' makes one"};
  }
  try {
    return std::unique_ptr<Store>(std::make_unique<SqliteStore>(path, creates));
  } catch (const sqlite::Error& problem) {
    return base::Failure{path + ": " + problem.what()};
  }
}

}  // namespace geiger::fleet
