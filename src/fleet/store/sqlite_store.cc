// The store of a laptop, or of some hundred hosts: one file.
#include "fleet/store/sqlite_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <new>
#include <string_view>
#include <utility>

#include "fleet/store/schema.h"
#include "fleet/store/sqlite_documents.h"
#include "fleet/store/sqlite_sums.h"
#include "fleet/store/store.h"
#include "fleet/store/sum_queries.h"
#include "sqlite/database.h"

namespace geiger::fleet {

namespace {

/// By type and name, as SQLite keeps them.
using Definitions = std::map<std::pair<std::string, std::string>, std::string>;

Definitions definitions_of(sqlite::Database& database) {
  Definitions definitions;
  sqlite::Statement query =
      database.prepare("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL");
  while (query.next()) definitions[{query.text(0), query.text(1)}] = query.text(2);
  return definitions;
}

Definitions own_definitions(std::int64_t version) {
  sqlite::Database own(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  for (const SchemaSection& section : sections_of(kSqliteSchema)) {
    if (section.version > version) break;
    for (const std::string& statement : section.statements) own.execute(statement);
  }
  return definitions_of(own);
}

}  // namespace

base::Outcome<void> check_companions(const std::string& path) {
  for (const std::string_view end : {"-wal", "-shm", "-journal"}) {
    const std::string companion = path + std::string(end);
    struct stat file {};
    if (lstat(companion.c_str(), &file) != 0) {
      if (errno == ENOENT) continue;
      return base::Failure{companion + ": " + std::strerror(errno)};
    }
    if (!S_ISREG(file.st_mode)) return base::Failure{companion + ": is not a regular file"};
    // A store has a journal only until its tables are there.
    if (end == "-journal" && file.st_uid != geteuid()) {
      return base::Failure{companion + ": is owned by another user"};
    }
  }
  return {};
}

void check_schema(sqlite::Database& database, std::int64_t version) {
  const Definitions own = own_definitions(version);
  const Definitions found = definitions_of(database);
  for (const auto& [name, definition] : own) {
    const auto same = found.find(name);
    if (same == found.end() || same->second != definition) {
      throw sqlite::Error("its " + name.first + " " + name.second + " was not made by geiger");
    }
  }
  for (const auto& [name, definition] : found) {
    if (name.first == "trigger") {
      throw sqlite::Error("its trigger " + name.second + " was not made by geiger");
    }
  }
}

namespace {

/// "geig": which program a file of SQLite belongs to.
constexpr std::int64_t kApplicationId = 0x67656967;

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

/// In a form that is nothing but a path: SQLite keeps ":memory:" in memory, and reads "file:" as a
/// URL.
std::string as_path(const std::string& path) { return path.starts_with('/') ? path : "./" + path; }

/// How SQLite is to open a file.
struct Opening {
  std::string name;
  int flags = 0;
  [[nodiscard]] bool writes() const { return (flags & SQLITE_OPEN_READWRITE) != 0; }
};

Opening opening_of(const std::string& path, bool creates) {
  const std::string plain = as_path(path);
  const std::string directory = plain.substr(0, plain.rfind('/') + 1);
  const bool may_write = access(plain.c_str(), W_OK) == 0 && access(directory.c_str(), W_OK) == 0;
  if (creates) return {plain, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
  if (may_write) return {plain, SQLITE_OPEN_READWRITE};
  std::error_code error;
  // A store that another process has open has a write-ahead log, which must be read too.
  const bool has_log = std::filesystem::exists(plain + "-wal", error);
  if (has_log) return {plain, SQLITE_OPEN_READONLY};
  // Else SQLite would want to make one.
  std::string url = "file:";
  for (const char c : plain) {
    const bool is_special = c == '%' || c == '?' || c == '#';
    url += is_special ? fmt::format("%{:02x}", c) : std::string(1, c);
  }
  return {url + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI};
}

class SqliteStore final : public Store {
 public:
  /// Readers need no permission to write.
  SqliteStore(const Opening& opening, bool creates) : database_(opening.name, opening.flags) {
    const bool is_new = creates && database_.integer_of("SELECT COUNT(*) FROM sqlite_master") == 0;
    // Before anything is written: the mode of the journal would stay in another program's file.
    if (!is_new && database_.integer_of("PRAGMA application_id") != kApplicationId) {
      throw sqlite::Error("it is a database of another program");
    }
    check_schema(database_, version());
    if (opening.writes()) {
      // A document that was acknowledged survives a power cut.
      database_.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
      if (is_new) database_.execute(fmt::format("PRAGMA application_id = {}", kApplicationId));
      make_tables();
    } else if (version() != sections_of(kSqliteSchema).back().version) {
      throw sqlite::Error("another version of geiger made it, and it is not writable here");
    }
    // With the usual 2 MiB pages of a large table are read eight times; with 128 the time for the
    // memory itself is longer.
    if (!creates) database_.execute("PRAGMA cache_size = -16384");
    documents_.emplace(database_);
  }

  base::Outcome<Receipt> put(const Document& document) override {
    return guarded([&] {
      sqlite::Transaction transaction(database_);
      const Receipt receipt = documents_->put(document);
      transaction.commit();
      return receipt;
    });
  }

  base::Outcome<std::vector<Receipt>> put_all(const std::vector<Document>& documents) override {
    return guarded([&] {
      std::vector<Receipt> receipts;
      sqlite::Transaction transaction(database_);
      for (const Document& document : documents) receipts.push_back(documents_->put(document));
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

  base::Outcome<std::vector<std::string>> services() override {
    return guarded([&] {
      std::vector<std::string> all;
      sqlite::Statement query = database_.prepare(kServicesQuery);
      while (query.next()) all.push_back(query.text(0));
      return all;
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

  base::Outcome<void> rows_and_hosts(const Filter& filter, const TakeRow& take,
                                     const TakeRow& take_host) override {
    return done([&] { sum_rows_and_hosts(database_, filter, take, take_host); });
  }

  base::Outcome<std::vector<StepSums>> steps(const Filter& filter, std::int64_t length) override {
    return guarded([&] { return sum_steps(database_, filter, length); });
  }

  base::Outcome<void> rows_by_time(const Filter& filter, std::int64_t length,
                                   const TakeTimedRow& take) override {
    return done([&] { sum_rows_by_time(database_, filter, length, take); });
  }

  base::Outcome<HoursOfDay> hours_of_day(const Filter& filter) override {
    return guarded([&] { return sum_hours_of_day(database_, filter); });
  }

  base::Outcome<std::uint64_t> shared_seeds(const std::vector<Filter>& parts) override {
    return guarded([&] { return count_shared_seeds(database_, parts); });
  }

  base::Outcome<std::vector<GapRow>> gaps(const Filter& filter) override {
    return guarded([&] { return find_gaps(database_, filter); });
  }

  base::Outcome<std::vector<std::string>> label_values(const Filter& filter,
                                                       const std::string& name) override {
    return guarded([&] { return find_label_values(database_, filter, name); });
  }

  base::Outcome<void> versions_of_stacks(const Filter& filter, const TakeVersion& take) override {
    return done([&] { find_versions_of_stacks(database_, filter, take); });
  }
  base::Outcome<std::vector<ProcessFacts>> with_shared_seeds() override {
    return guarded([&] { return find_seed_sharers(database_); });
  }
  base::Outcome<std::vector<ClockFacts>> wrong_clocks() override {
    return guarded([&] { return find_wrong_clocks(database_); });
  }
  base::Outcome<std::vector<ProcessFacts>> processes(const Filter& filter) override {
    return guarded([&] { return find_processes(database_, filter); });
  }

  base::Outcome<void> remove(const Filter& filter) override {
    return done([&] {
      sqlite::Transaction transaction(database_);
      remove_windows(database_, filter);
      transaction.commit();
      documents_->forget();
    });
  }

  base::Outcome<std::vector<Location>> unnamed() override {
    return guarded([&] { return find_unnamed(database_); });
  }

  base::Outcome<void> put_names(const std::vector<Location>& named) override {
    return done([&] {
      sqlite::Transaction transaction(database_);
      for (const Location& location : named) documents_->stacks().put_names(location);
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
      for (const StackId id : stacks) documents_->stacks().load(id, into);
    });
  }

  base::Outcome<Health> health(std::int64_t from) override {
    return guarded([&] { return ask_health(from); });
  }

 private:
  /// What `work` returns, or why the database could not do it.
  template <typename Work>
  auto guarded(const Work& work) -> base::Outcome<decltype(work())> {
    const Watched watched(database_, begin());
    try {
      return work();
    } catch (const sqlite::Error& error) {
      return failure_of(error);
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    }
  }
  template <typename Work>
  base::Outcome<void> done(const Work& work) {
    const Watched watched(database_, begin());
    try {
      work();
      return {};
    } catch (const sqlite::Error& error) {
      return failure_of(error);
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    }
  }

  base::Failure out_of_memory() {
    documents_->forget();
    return base::Failure{"out of memory"};
  }
  base::Failure failure_of(const sqlite::Error& error) {
    documents_->forget();
    return {std::string("SQLite: ") + error.what()};
  }

  std::int64_t version() { return database_.integer_of("PRAGMA user_version"); }

  /// Those that are missing, in a file that is new or of an earlier version.
  void make_tables() {
    const auto sections = sections_of(kSqliteSchema);
    const std::int64_t latest = sections.back().version;
    if (version() == latest) return;
    sqlite::Transaction transaction(database_);
    const std::int64_t known = version();  // Another process may have been here first.
    if (known > latest) {
      throw sqlite::Error(
          fmt::format("a newer geiger made it (schema {}, known up to {})", known, latest));
    }
    for (const SchemaSection& section : sections) {
      if (section.version <= known) continue;
      for (const std::string& statement : section.statements) database_.execute(statement);
    }
    database_.execute(fmt::format("PRAGMA user_version = {}", latest));
    transaction.commit();
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
    documents_->forget();
    return upkeep;
  }

  Health ask_health(std::int64_t from) {
    const auto count = [&](std::string_view query) {
      return static_cast<std::uint64_t>(database_.integer_of(query));
    };
    Health health;
    health.incomplete_windows = count(
        "SELECT COUNT(*) FROM windows LEFT JOIN (SELECT window_id, COUNT(*) AS n, SUM(allocated) "
        "AS a "
        "FROM window_counts GROUP BY window_id) USING (window_id) "
        "WHERE row_count <> COALESCE(n, 0) OR samples <> COALESCE(a, 0)");
    health.shared_seeds = count(shared_seeds_query({"windows"}));
    health.unknown_stacks = count(
        "SELECT COUNT(DISTINCT stack_id) FROM cells WHERE stack_id NOT IN (SELECT stack_id FROM "
        "stacks)");
    health.unnamed_locations = count(
        "SELECT COUNT(*) FROM locations WHERE location_id NOT IN (SELECT location_id FROM frames)");
    health.gaps = count(lost_gaps_query("gaps", from));
    // Only the time of the last document is kept: all with its reason count.
    sqlite::Statement refusals =
        database_.prepare("SELECT reason, documents FROM refusals WHERE last >= ?");
    refusals.bind(from);
    while (refusals.next()) health.refusals[refusals.text(0)] = refusals.number(1);
    return health;
  }

  sqlite::Database database_;
  std::optional<SqliteDocuments> documents_;  ///< Once the tables are there.
};

}  // namespace

base::Outcome<std::unique_ptr<Store>> open_sqlite(const std::string& path, bool creates) {
  // SQLite would make a database for it that is gone with the process.
  if (path.empty()) return base::Failure{"the path of the store is empty"};
  std::error_code error;
  if (!creates && !std::filesystem::exists(path, error)) {
    return base::Failure{path + ": no such file; 'geiger push RUN " + path + "' makes one"};
  }
  GEIGER_TRY(check_companions(path));
  try {
    return std::unique_ptr<Store>(
        std::make_unique<SqliteStore>(opening_of(path, creates), creates));
  } catch (const sqlite::Error& problem) {
    return base::Failure{path + ": " + problem.what()};
  }
}

}  // namespace geiger::fleet
