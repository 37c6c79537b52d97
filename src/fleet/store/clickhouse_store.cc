#include "fleet/store/clickhouse_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/text.h"
#include "fleet/document/document.h"
#include "fleet/document/encoding.h"
#include "fleet/store/clickhouse_rows.h"
#include "fleet/store/clickhouse_server.h"
#include "fleet/store/clickhouse_sums.h"
#include "fleet/store/sum_queries.h"

namespace geiger::fleet {
namespace {

/// Ids in one question: its text stays below the 256 KiB that servers take.
constexpr std::size_t kAskedAtOnce = 8000;

template <typename Ask>
void in_portions(const std::vector<std::uint64_t>& ids, const Ask& ask) {
  for (std::size_t first = 0; first < ids.size(); first += kAskedAtOnce) {
    const auto end = std::min(ids.size(), first + kAskedAtOnce);
    ask(fmt::format("{}", fmt::join(ids.begin() + first, ids.begin() + end, ",")));
  }
}

std::vector<std::uint64_t> ids_listed_in(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  while (!text.empty()) {
    const auto number = base::number_in<std::uint64_t>(base::take_part(text, ' '));
    if (!number) break;
    numbers.push_back(*number);
  }
  return numbers;
}

using Tick = std::function<void()>;

class ClickHouseStore final : public Store {
 public:
  /// Takes documents that begin at `oldest` or later.
  ClickHouseStore(std::unique_ptr<ClickHouseServer> server, std::shared_ptr<Tick> tick,
                  std::function<std::int64_t()> oldest)
      : server_(std::move(server)),
        sums_(*server_),
        tick_(std::move(tick)),
        oldest_(std::move(oldest)) {}

  std::optional<std::int64_t> time() override { return server_->time(); }

  base::Outcome<Receipt> put(const Document& document) override {
    return guarded([&] { return put_document(document); });
  }

  base::Outcome<std::vector<Receipt>> put_all(const std::vector<Document>& documents) override {
    return guarded([&] {
      std::vector<Receipt> receipts;
      for (const Document& document : documents) receipts.push_back(put_document(document));
      return receipts;
    });
  }

  base::Outcome<void> put(const GapRow& gap) override {
    return done([&] {
      RowBinary row;
      row.text(gap.host).number<std::uint64_t>(gap.process);
      row.number<std::uint32_t>(static_cast<std::uint32_t>(gap.first));
      row.number<std::uint32_t>(static_cast<std::uint32_t>(gap.last)).text(gap.reason);
      server_->insert("gaps", "host, process, first, last, reason", row.bytes());
    });
  }

  base::Outcome<void> count_refusal(const std::string& reason, std::uint64_t documents) override {
    return done([&] {
      RowBinary row;
      row.text(reason).number<std::uint64_t>(documents);
      server_->insert("refusals", "reason, documents", row.bytes());
    });
  }

  base::Outcome<std::vector<std::string>> services() override {
    return guarded([&] { return sums_.services(); });
  }

  base::Outcome<std::vector<VersionFacts>> versions() override {
    return guarded([&] { return sums_.versions(); });
  }
  base::Outcome<std::vector<HostSums>> hosts(const Filter& filter) override {
    return guarded([&] { return sums_.hosts(filter); });
  }
  base::Outcome<void> rows_by_host(const Filter& filter, const TakeRow& take) override {
    return done([&] { sums_.rows_by_host(filter, take); });
  }
  void expect_rows(const Filter& filter) override { sums_.expect_rows(filter); }

  base::Outcome<void> rows(const Filter& filter, const TakeRow& take) override {
    return done([&] { sums_.rows(filter, take); });
  }
  base::Outcome<void> rows_and_hosts(const Filter& filter, const TakeRow& take,
                                     const TakeRow& take_host) override {
    return done([&] { sums_.rows_and_hosts(filter, take, take_host); });
  }
  base::Outcome<std::vector<StepSums>> steps(const Filter& filter, std::int64_t length) override {
    return guarded([&] { return sums_.steps(filter, length); });
  }
  base::Outcome<void> rows_by_time(const Filter& filter, std::int64_t length,
                                   const TakeTimedRow& take) override {
    return done([&] { sums_.rows_by_time(filter, length, take); });
  }
  base::Outcome<HoursOfDay> hours_of_day(const Filter& filter) override {
    return guarded([&] { return sums_.hours_of_day(filter); });
  }

  base::Outcome<std::uint64_t> shared_seeds(const std::vector<Filter>& parts) override {
    return guarded([&] { return sums_.shared_seeds(parts); });
  }

  base::Outcome<std::vector<GapRow>> gaps(const Filter& filter) override {
    return guarded([&] { return sums_.gaps(filter); });
  }
  base::Outcome<std::vector<std::string>> label_values(const Filter& filter,
                                                       const std::string& name) override {
    return guarded([&] { return sums_.label_values(filter, name); });
  }

  base::Outcome<void> versions_of_stacks(const Filter& filter, const TakeVersion& take) override {
    return done([&] { sums_.versions_of_stacks(filter, take); });
  }
  base::Outcome<std::vector<ProcessFacts>> with_shared_seeds() override {
    return guarded([&] { return sums_.with_shared_seeds(); });
  }
  base::Outcome<std::vector<ClockFacts>> wrong_clocks() override {
    return guarded([&] { return sums_.wrong_clocks(); });
  }
  base::Outcome<std::vector<ProcessFacts>> processes(const Filter& filter) override {
    return guarded([&] { return sums_.processes(filter); });
  }
  base::Outcome<void> remove(const Filter& filter) override {
    return done([&] { sums_.remove(filter); });
  }

  base::Outcome<std::vector<Location>> unnamed() override {
    return guarded([&] {
      std::vector<Location> all;
      server_->ask(
          "SELECT location_id, any(kind), any(build_id), any(module), any(address) FROM locations "
          "WHERE location_id NOT IN (SELECT location_id FROM frames) GROUP BY location_id ORDER BY "
          "location_id",
          [&](const TabRow& row) { all.push_back(read_location(row)); });
      return all;
    });
  }

  base::Outcome<void> put_names(const std::vector<Location>& named) override {
    return done([&] {
      std::vector<std::uint64_t> ids;
      for (const Location& location : named) ids.push_back(location.id);
      std::set<LocationId> known;
      in_portions(ids, [&](const std::string& list) {
        server_->ask("SELECT location_id FROM frames WHERE location_id IN (" + list + ")",
                     [&](const TabRow& row) { known.insert(row.number(0)); });
      });
      std::vector<Location> fresh;
      std::ranges::copy_if(named, std::back_inserter(fresh),
                           [&](const Location& location) { return !known.contains(location.id); });
      insert(frames_of(fresh));
    });
  }

  base::Outcome<std::vector<StackId>> stacks_without_sites() override {
    return guarded([&] {
      std::vector<StackId> ids;
      server_->ask(
          "SELECT DISTINCT stack_id FROM stacks WHERE stack_id NOT IN (SELECT stack_id FROM sites "
          "FINAL WHERE has_names = 1) ORDER BY stack_id",
          [&](const TabRow& row) { ids.push_back(row.number(0)); });
      return ids;
    });
  }

  base::Outcome<void> put_sites(const std::vector<SiteRow>& sites) override {
    return done([&] { insert(sites_of(sites)); });
  }

  base::Outcome<Upkeep> maintain(const Retention& retention) override {
    return guarded([&] {
      sums_.forget();
      return fleet::maintain(*server_, retention);
    });
  }

  base::Outcome<void> load_stacks(const std::vector<StackId>& stacks, Recall& into) override {
    return done([&] { in_portions(stacks, [&](const std::string& list) { load(list, into); }); });
  }

  base::Outcome<Health> health(std::int64_t from) override {
    return guarded([&] { return sums_.health(from); });
  }

 private:
  /// What `work` returns, or why the server could not do it.
  template <typename Work>
  auto guarded(const Work& work) -> base::Outcome<decltype(work())> {
    *tick_ = begin();
    try {
      auto result = work();
      *tick_ = {};
      return result;
    } catch (const ServerError& error) {
      *tick_ = {};
      return failure_of(error);
    }
  }
  template <typename Work>
  base::Outcome<void> done(const Work& work) {
    GEIGER_TRY(guarded([&] {
      work();
      return true;
    }));
    return {};
  }

  Receipt put_document(const Document& document) {
    if (document.window.key.started < oldest_()) return Receipt::kTooOld;
    // An id is a hash of what it stands for, so a stack shows by itself whether it has that of
    // another one.
    const bool has_other_locations = std::ranges::any_of(
        document.stacks, [](const Stack& stack) { return stack.id != id_of(stack); });
    if (has_other_locations) return Receipt::kOtherStack;
    const std::uint64_t content = content_of(document);
    if (const auto known = content_at(document.window.key)) {
      return *known == content ? Receipt::kKnown : Receipt::kOtherContents;
    }
    for (const TableRows& rows : rows_of(document, content)) insert(rows);
    sums_.forget();
    return Receipt::kStored;
  }

  /// Of the window with a key, if there is one. A user who may only insert learns nothing; the same
  /// rows once more are harmless, and others are found when they are read.
  std::optional<std::uint64_t> content_at(const Key& key) {
    if (!may_ask_) return std::nullopt;
    std::optional<std::uint64_t> content;
    try {
      server_->ask(
          fmt::format("SELECT content FROM windows WHERE service = {} AND version = {} AND "
                      "host = {} AND process = {} AND started = {}",
                      quoted(key.service), quoted(key.version), quoted(key.host), key.process,
                      key.started),
          [&](const TabRow& row) { content = row.number(0); });
    } catch (const ServerError& error) {
      if (!error.is_forbidden()) throw;
      may_ask_ = false;
    }
    return content;
  }

  void insert(const TableRows& rows) { server_->insert(rows.table, rows.columns, rows.bytes); }

  /// Stacks with their locations and frames.
  void load(const std::string& list, Recall& into) {
    std::vector<Stack> stacks;
    std::set<LocationId> missing;
    server_->ask(
        "SELECT stack_id, truncated, arrayStringConcat(arrayMap(x -> toString(x), locations), ' ') "
        "AS list FROM stacks WHERE stack_id IN (" +
            list + ") ORDER BY stack_id, list LIMIT 1 BY stack_id",
        [&](const TabRow& row) {
          stacks.push_back({row.number(0), ids_listed_in(row.text(2)), row.integer(1) != 0});
          for (const LocationId id : stacks.back().locations) {
            if (!into.has_location(id)) missing.insert(id);
          }
        });
    load_locations({missing.begin(), missing.end()}, into);
    for (const Stack& stack : stacks) {
      for (const LocationId id : stack.locations) {
        if (!into.has_location(id)) into.add_location({id, "", "", {}, 0, {}});
      }
      into.add_stack(stack);
    }
  }

  void load_locations(const std::vector<LocationId>& ids, Recall& into) {
    in_portions(ids, [&](const std::string& list) {
      std::map<LocationId, std::vector<profile::Frame>> frames;
      server_->ask(
          "SELECT location_id, name, system, path, number FROM (SELECT location_id, function, "
          "system_name, file, line, arrayEnumerate(function) AS positions FROM frames WHERE "
          "location_id IN (" +
              list +
              ") ORDER BY location_id, depth DESC LIMIT 1 BY location_id) ARRAY JOIN function AS "
              "name, system_name AS system, file AS path, line AS number, positions AS position "
              "ORDER BY location_id, position",
          [&](const TabRow& row) {
            frames[row.number(0)].push_back(
                {row.text(1), row.text(2), row.text(3), static_cast<std::uint32_t>(row.number(4))});
          });
      server_->ask(
          "SELECT location_id, kind, build_id, module, address FROM locations WHERE location_id IN "
          "(" +
              list + ") ORDER BY location_id LIMIT 1 BY location_id",
          [&](const TabRow& row) {
            Location location = read_location(row);
            location.frames = std::move(frames[location.id]);
            into.add_location(location);
          });
    });
  }

  base::Failure failure_of(const ServerError& error) const {
    if (error.is_missing()) return missing_tables(*server_);
    return {std::string("ClickHouse: ") + error.what()};
  }

  std::unique_ptr<ClickHouseServer> server_;
  ClickHouseSums sums_;
  std::shared_ptr<Tick> tick_;  ///< The server's client calls it while it waits.
  std::function<std::int64_t()> oldest_;
  bool may_ask_ = true;
};

struct Opened {
  std::unique_ptr<ClickHouseServer> server;
  std::shared_ptr<Tick> tick;
};

base::Outcome<Opened> open_server(const std::string& url, const StoreOptions& options) {
  auto tick = std::make_shared<Tick>();
  auto server =
      GEIGER_TRY(ClickHouseServer::open(url, options.token_file, [tick, stops = options.stops] {
        if (*tick) (*tick)();
        return stops && stops();
      }));
  return Opened{std::move(server), std::move(tick)};
}

std::unique_ptr<Store> store_over(Opened opened, std::function<std::int64_t()> oldest) {
  return std::make_unique<ClickHouseStore>(std::move(opened.server), std::move(opened.tick),
                                           std::move(oldest));
}

/// The server may drop what is older, without a word.
std::int64_t oldest_kept() {
  return static_cast<std::int64_t>(std::time(nullptr)) - kKeptDays * std::int64_t{86'400};
}

}  // namespace

base::Outcome<std::unique_ptr<Store>> open_clickhouse(const std::string& url,
                                                      const StoreOptions& options) {
  auto opened = GEIGER_TRY(open_server(url, options));
  GEIGER_TRY(check_tables(*opened.server).with_prefix(url + ": "));
  return store_over(std::move(opened), [] { return std::int64_t{0}; });
}

base::Outcome<std::unique_ptr<Store>> open_clickhouse_sink(const std::string& url,
                                                           const StoreOptions& options) {
  auto opened = GEIGER_TRY(open_server(url, options));
  return store_over(std::move(opened), oldest_kept);
}

base::Outcome<void> prepare_clickhouse(const std::string& url, const StoreOptions& options) {
  auto opened = GEIGER_TRY(open_server(url, options));
  try {
    make_tables(*opened.server);
    return {};
  } catch (const ServerError& error) {
    return base::Failure{url + ": " + error.what()};
  }
}

}  // namespace geiger::fleet
