// Where the documents of a fleet are kept, and its queries. Databases do what they are good
// at: keep rows once, and add up integers.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/profile/select/kind_rules.h"
#include "base/outcome.h"
#include "fleet/document/document.h"
#include "fleet/document/recall.h"

namespace geiger::fleet {

/// Which windows to read. What is not given does not restrict them.
struct Filter {
  std::string service;  ///< One only: services do not share sites.
  std::optional<std::string> version;
  std::optional<std::string> host;
  std::optional<std::int64_t> from, to;       ///< Unix seconds; windows that begin in [from, to).
  std::map<std::string, std::string> labels;  ///< All of them; "": windows without it too.
  /// Only windows that begin in these hours of the day (UTC).
  std::optional<std::bitset<24>> hours_of_day;
  /// Only windows that were recorded and whose resident memory is known.
  bool with_rss = false;
  /// Only windows of processes with these seeds; empty: of all.
  std::vector<std::uint64_t> seeds = {};
};

/// Recorded milliseconds of hosts, by the hour of the day (UTC) in which their windows begin.
using HoursOfDay = std::array<std::uint64_t, 24>;

/// What became of a document that was offered.
enum class Receipt : std::uint8_t {
  kStored,
  kKnown,          ///< It is there already, the same to the bit.
  kOtherContents,  ///< Another one has its key. Nothing was stored.
  kOtherStack,     ///< A stack's id belongs to other locations. Nothing was stored.
  kTooOld,         ///< The store drops what is as old. Nothing was stored.
};
/// "stored", "known", "its window is stored with different contents", ...
[[nodiscard]] std::string_view text_of(Receipt receipt);

/// Counts by window are kept for so long at least; servers refuse what comes later than that.
inline constexpr std::int64_t kKeptDays = 7;

/// A service's version as the store has it.
struct VersionFacts {
  std::string service, version;
  std::uint64_t hosts = 0, processes = 0, windows = 0;
  std::int64_t first = 0, last = 0;  ///< Starts of windows.
  std::uint64_t samples = 0;
  std::string executable;  ///< The last one by name.
};

/// The windows of a process image.
struct ProcessFacts {
  std::string service, version, host;
  std::uint64_t process = 0;
  std::uint64_t windows = 0, samples = 0;
  std::int64_t first = 0, last = 0;  ///< Starts of windows, Unix seconds.
};

/// How far a host's clock was off, in seconds.
struct ClockFacts {
  std::string host;
  std::int64_t measured = 0;  ///< By an agent, before it corrected its windows.
  std::int64_t ahead = 0;     ///< Windows begin this much after they were received.
};

/// What `fleet doctor` asks.
struct Health {
  std::uint64_t incomplete_windows = 0;  ///< With fewer rows or samples than were sent.
  std::uint64_t shared_seeds = 0;        ///< Processes that drew with another one's seed.
  std::uint64_t unknown_stacks = 0;      ///< Counted, and never sent.
  std::uint64_t ambiguous_stacks = 0;    ///< Ids that stand for several lists of locations.
  std::uint64_t unnamed_locations = 0;
  std::uint64_t gaps = 0;
  std::map<std::string, std::uint64_t> refusals;  ///< Documents, by reason.
  /// Of with_shared_seeds() and wrong_clocks(): health() leaves them empty.
  std::vector<ProcessFacts> seed_sharers = {};
  std::vector<ClockFacts> wrong_clocks = {};
};

/// What the allocations of a stack are called, for readers that only have SQL.
struct SiteRow {
  StackId stack = 0;
  std::string function, module;   ///< To blame.
  std::vector<std::string> path;  ///< It and its callers, as reports show them.
  bool has_names = true;          ///< Of all points; else some are only addresses.
};

/// Days since 1970.
struct Retention {
  std::int64_t today = 0;         ///< Days before it are over.
  std::int64_t first_counts = 0;  ///< First whose counts are kept by window.
  std::int64_t first_day = 0;     ///< First of which anything is kept.
};

/// What maintain() did, in days.
struct Upkeep {
  std::uint64_t rolled_days = 0;   ///< Added up, or added up anew.
  std::uint64_t short_days = 0;    ///< Left as they were, because windows of them are incomplete.
  std::uint64_t dropped_days = 0;  ///< Now kept by day, or not at all.
};

/// Reasons of gaps without a length: how a process ended.
inline constexpr std::string_view kKilled = "ended without exit";
inline constexpr std::string_view kOutOfMemory = "ended without exit, host out of memory";

/// A stretch of time that is known to be missing.
struct GapRow {
  std::string host;
  std::uint64_t process = 0;
  std::int64_t first = 0, last = 0;
  std::string reason;
};

/// The windows of all hosts in one step of time, added up.
struct StepSums {
  std::int64_t started = 0;  ///< Unix seconds, a multiple of the step's length.
  std::uint64_t hosts = 0, recorded_hosts = 0;
  std::uint64_t alive_ms = 0, recorded_ms = 0;  ///< Of all hosts; of each as in HostSums.
  /// As if all of them were one host that was recorded for as long as the one that was for longest.
  HostSums sums;
};

/// Each function fails with a clause if the database does. Not for several threads at once.
class Store {
 public:
  Store() = default;
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// At the start of each query begin() is called, and the function that it returns is called now
  /// and then until the answer arrives.
  using Begin = std::function<std::function<void()>()>;
  void watch(Begin begin) { begin_ = std::move(begin); }

  /// Unix seconds on the store's clock, where it has one of its own and answers.
  [[nodiscard]] virtual std::optional<std::int64_t> time() { return std::nullopt; }

  /// Keeps a document, whole or not at all; it survives a crash once this has returned.
  [[nodiscard]] virtual base::Outcome<Receipt> put(const Document& document) = 0;
  /// Puts several in, with one wait for the disk; all of them fail if one does.
  [[nodiscard]] virtual base::Outcome<std::vector<Receipt>> put_all(
      const std::vector<Document>& documents) = 0;
  /// Gaps that begin alike are one, which lasts as long as the longest.
  [[nodiscard]] virtual base::Outcome<void> put(const GapRow& gap) = 0;
  /// Counts documents that were not taken.
  [[nodiscard]] virtual base::Outcome<void> count_refusal(const std::string& reason,
                                                          std::uint64_t documents = 1) = 0;

  /// Ascending.
  [[nodiscard]] virtual base::Outcome<std::vector<std::string>> services() = 0;
  /// In order of services and times.
  [[nodiscard]] virtual base::Outcome<std::vector<VersionFacts>> versions() = 0;
  /// The windows of each host, added up; in order of their names.
  [[nodiscard]] virtual base::Outcome<std::vector<HostSums>> hosts(const Filter& filter) = 0;
  /// The counts of each host, added up over its windows, in order of hosts.
  using TakeRow = std::function<void(const std::string& host, const SummedRow& row)>;
  [[nodiscard]] virtual base::Outcome<void> rows_by_host(const Filter& filter,
                                                         const TakeRow& take) = 0;
  /// rows(filter) will be asked for. A store may then get them with the first answer about them.
  virtual void expect_rows(const Filter& /*filter*/) {}
  /// The counts added up over all windows, and hosts; `host` is empty.
  [[nodiscard]] virtual base::Outcome<void> rows(const Filter& filter, const TakeRow& take) = 0;
  /// rows(), and to take_host() those of each host, added up over stacks too (stack 0). Far fewer
  /// than the rows by host, and enough for what each host has in all.
  [[nodiscard]] virtual base::Outcome<void> rows_and_hosts(const Filter& filter,
                                                           const TakeRow& take,
                                                           const TakeRow& take_host) = 0;
  /// The windows of each step of `length` seconds, a multiple of the grid; in order of time.
  [[nodiscard]] virtual base::Outcome<std::vector<StepSums>> steps(const Filter& filter,
                                                                   std::int64_t length) = 0;
  [[nodiscard]] virtual base::Outcome<HoursOfDay> hours_of_day(const Filter& filter) = 0;
  /// How many processes of these parts drew with the seed of another one. One that is in two parts
  /// is two.
  [[nodiscard]] virtual base::Outcome<std::uint64_t> shared_seeds(
      const std::vector<Filter>& parts) = 0;
  /// The counts of each step, added up over hosts, in order of time.
  using TakeTimedRow = std::function<void(std::int64_t started, const SummedRow& row)>;
  [[nodiscard]] virtual base::Outcome<void> rows_by_time(const Filter& filter, std::int64_t length,
                                                         const TakeTimedRow& take) = 0;
  /// The gaps of processes that have windows of the service and version, on its hosts and with its
  /// labels, as far as they are in its time; in order of hosts and time.
  [[nodiscard]] virtual base::Outcome<std::vector<GapRow>> gaps(const Filter& filter) = 0;
  /// The values that a label has in the windows; those without it have "". Ascending.
  [[nodiscard]] virtual base::Outcome<std::vector<std::string>> label_values(
      const Filter& filter, const std::string& name) = 0;
  /// Locations without frames.
  [[nodiscard]] virtual base::Outcome<std::vector<Location>> unnamed() = 0;
  /// Adds frames to locations that have none; all or nothing.
  [[nodiscard]] virtual base::Outcome<void> put_names(const std::vector<Location>& named) = 0;
  /// Stacks without sites, or with some that lack names. Ascending.
  [[nodiscard]] virtual base::Outcome<std::vector<StackId>> stacks_without_sites() = 0;
  /// Replaces those of the same stacks.
  [[nodiscard]] virtual base::Outcome<void> put_sites(const std::vector<SiteRow>& sites) = 0;
  /// The versions of the service that have counts of each stack, at any time; in any order.
  using TakeVersion = std::function<void(StackId stack, const std::string& version)>;
  [[nodiscard]] virtual base::Outcome<void> versions_of_stacks(const Filter& filter,
                                                               const TakeVersion& take) = 0;
  /// Processes whose samples are not independent of another one's.
  [[nodiscard]] virtual base::Outcome<std::vector<ProcessFacts>> with_shared_seeds() = 0;
  /// Of hosts whose clocks are wrong by an hour or more, as far as the store can tell.
  [[nodiscard]] virtual base::Outcome<std::vector<ClockFacts>> wrong_clocks() = 0;
  /// What a filter chooses, process by process, in order.
  [[nodiscard]] virtual base::Outcome<std::vector<ProcessFacts>> processes(
      const Filter& filter) = 0;
  /// Removes the windows that a filter chooses, with their counts and the gaps of processes that
  /// have no other windows. Where it is interrupted, the same again goes on.
  [[nodiscard]] virtual base::Outcome<void> remove(const Filter& filter) = 0;
  /// Adds up past days where the store does that, and drops what is too old.
  [[nodiscard]] virtual base::Outcome<Upkeep> maintain(const Retention& retention) = 0;
  /// Hands over the stacks that are known, each after its locations.
  [[nodiscard]] virtual base::Outcome<void> load_stacks(const std::vector<StackId>& stacks,
                                                        Recall& into) = 0;
  /// Gaps and refusals of before `from`, Unix seconds, are left out.
  [[nodiscard]] virtual base::Outcome<Health> health(std::int64_t from) = 0;

 protected:
  /// For the next queries; may be empty.
  [[nodiscard]] std::function<void()> begin() const {
    return begin_ ? begin_() : std::function<void()>();
  }

 private:
  Begin begin_;
};

/// Opens a store in a file, `path`; makes one if there is none and `creates`.
[[nodiscard]] base::Outcome<std::unique_ptr<Store>> open_sqlite(const std::string& path,
                                                                bool creates);

// Stores by their URLs.

struct StoreOptions {
  std::string token_file =
      {};  ///< With the password of a server's user; empty: $GEIGER_TOKEN_FILE.
  std::function<bool()> stops = {};  ///< Polled while waiting for a server: true gives up.
};

/// How a store can be named, for help and complaints; docs/guide/clickhouse.md has the whole form.
inline constexpr const char* kStoreForms = "a path, file://PATH or clickhouse+https://HOST/DB";

/// Of a store that is a file: a path names itself. Nothing for URLs of other kinds.
[[nodiscard]] std::optional<std::string> path_of_url(const std::string& url);

/// For queries. Fails if it does not exist.
[[nodiscard]] base::Outcome<std::unique_ptr<Store>> open_store(const std::string& url,
                                                               const StoreOptions& options);
/// For inserts. Creates the file if it does not exist.
[[nodiscard]] base::Outcome<std::unique_ptr<Store>> open_store_to_fill(const std::string& url,
                                                                       const StoreOptions& options);
/// Makes what is missing of a store: the file, the database, its tables.
[[nodiscard]] base::Outcome<void> prepare_store(const std::string& url,
                                                const StoreOptions& options);

/// The file of a token that options or else the environment name; empty: none.
[[nodiscard]] std::string token_file_of(const std::string& option);

}  // namespace geiger::fleet
