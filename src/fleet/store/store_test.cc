#include "fleet/store/store.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/profile/select/profile.h"
#include "fleet/document/encoding.h"
#include "fleet/document/test_documents.h"
#include "fleet/store/schema.h"
#include "sqlite/database.h"

namespace geiger::fleet {
namespace {

using profile::Kind;

/// A file, or a database of the server that GEIGER_CLICKHOUSE names
/// ("clickhouse+http://HOST:PORT/"), each test another one.
class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
    const auto prepared = prepare_store(url(), {});
    EXPECT_TRUE(prepared.has_value()) << prepared.reason();
    open();
  }
  ~StoreTest() override {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  void open() {
    store_.reset();
    auto opened = open_store(url(), {});
    ASSERT_TRUE(opened.has_value()) << opened.reason();
    store_ = std::move(opened.value());
  }
  [[nodiscard]] std::string url() const {
    const char* const server = std::getenv("GEIGER_CLICKHOUSE");
    if (server == nullptr) return path();
    return std::string(server) + testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  [[nodiscard]] std::string path() const { return directory_ / "fleet.db"; }

  Receipt put(const Document& document) {
    const auto receipt = store_->put(document);
    EXPECT_TRUE(receipt.has_value()) << receipt.reason();
    return receipt.value();
  }

  profile::Recording recall(const Filter& filter, Kind kind = Kind::kAllocated) {
    Recall recall(kind);
    store_->expect_rows(filter);
    const auto hosts = store_->hosts(filter);
    EXPECT_TRUE(hosts.has_value()) << hosts.reason();
    for (const HostSums& host : hosts.value()) recall.add_host(host);
    const auto rows = store_->rows(
        filter, [&](const std::string& /*host*/, const SummedRow& row) { recall.add(row); });
    EXPECT_TRUE(rows.has_value()) << rows.reason();
    const auto stacks = store_->load_stacks(recall.missing_stacks(), recall);
    EXPECT_TRUE(stacks.has_value()) << stacks.reason();
    return recall.finish();
  }

  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("geiger-store-" + std::to_string(getpid()));
  std::unique_ptr<Store> store_;
};

Filter of_version(const std::string& version) {
  Filter filter;
  filter.service = kOrigin.service;
  filter.version = version;
  return filter;
}

TEST_F(StoreTest, WhatIsSentThreeTimesCountsOnce) {
  const profile::Recording recording = random_recording(1);
  const std::vector<Document> documents = documents_of(recording);
  for (const Document& document : documents) EXPECT_EQ(put(document), Receipt::kStored);
  open();
  for (int i = 0; i < 2; ++i) {
    for (const Document& document : documents) EXPECT_EQ(put(document), Receipt::kKnown);
  }
  const profile::Recording same = recall(of_version("1.0"));
  EXPECT_EQ(total(same, select(same, Kind::kAllocated)),
            total(recording, select(recording, Kind::kAllocated)));
}

TEST_F(StoreTest, OneKeyWithTwoContentsIsRefused) {
  Document document = documents_of(random_recording(2)).front();
  EXPECT_EQ(put(document), Receipt::kStored);
  ++document.counts.front().allocated;
  EXPECT_EQ(put(document), Receipt::kOtherContents);
  EXPECT_EQ(store_->health(0)->incomplete_windows, 0U);
}

TEST_F(StoreTest, HostsThatWereNotRecordedCountAsTheirTime) {
  Document document = documents_of(random_recording(10)).front();
  put(document);
  document.window.key.host = "web-2";
  document.window.recorded_ms = 0;
  document.counts.clear();
  put(document);
  const auto hosts = store_->hosts(of_version("1.0"));
  ASSERT_EQ(hosts->size(), 2U);
  EXPECT_EQ(hosts->back().recorded_ms, 0U);
  EXPECT_EQ(hosts->back().alive_ms, hosts->front().alive_ms);
}

TEST_F(StoreTest, AStackIdWithOtherLocationsIsRefusedAsAWhole) {
  std::vector<Document> documents = documents_of(random_recording(3));
  EXPECT_EQ(put(documents[0]), Receipt::kStored);
  documents[1].stacks.front().locations.push_back(documents[1].locations.front().id);
  EXPECT_EQ(put(documents[1]), Receipt::kOtherStack);
  EXPECT_EQ(store_->hosts(of_version("1.0"))->front().windows, 1U);
}

TEST_F(StoreTest, StacksOfAnUndoneTransactionAreWrittenAgain) {
  if (!std::filesystem::exists(path())) GTEST_SKIP() << "servers have no transactions";
  const auto documents = documents_of(random_recording(3));
  sqlite::Database other(path(), SQLITE_OPEN_READWRITE);
  other.execute(
      "CREATE TRIGGER full BEFORE INSERT ON window_counts BEGIN SELECT RAISE(ABORT, 'full'); END");
  EXPECT_FALSE(store_->put_all(documents).has_value());
  other.execute("DROP TRIGGER full");
  EXPECT_EQ(put(documents[0]), Receipt::kStored);
  EXPECT_EQ(store_->health(0)->unknown_stacks, 0U);
  EXPECT_EQ(other.integer_of("SELECT COUNT(*) FROM locations"),
            static_cast<std::int64_t>(documents[0].locations.size()));
}

TEST_F(StoreTest, FiltersChooseWindows) {
  for (const char* host : {"web-1", "web-2"}) {
    for (const char* version : {"1.0", "1.1"}) {
      Origin origin = kOrigin;
      origin.host = host;
      origin.version = version;
      origin.labels["zone"] = host;
      for (const Document& document : documents_of(random_recording(4), origin)) put(document);
    }
  }
  Filter filter = of_version("1.1");
  EXPECT_EQ(store_->hosts(filter)->size(), 2U);
  filter.labels["zone"] = "web-2";
  ASSERT_EQ(store_->hosts(filter)->size(), 1U);
  EXPECT_EQ(store_->hosts(filter)->front().windows, 3U);
  EXPECT_EQ(store_->hosts(filter)->front().recorded_ms, 1'500'000U);
  filter.from = kMidnight + kGrid;
  filter.to = kMidnight + 2 * kGrid;
  EXPECT_EQ(store_->hosts(filter)->front().windows, 1U);
  EXPECT_EQ(store_->versions()->size(), 2U);
  EXPECT_EQ(store_->services().value(), (std::vector<std::string>{kOrigin.service}));
}

/// One document of a process that ran for some seconds within a step of the grid.
Document run_of(std::uint64_t process, std::int64_t begin, std::uint64_t seconds) {
  Document document = documents_of(random_recording(12)).front();
  document.window.key.process = document.window.seed = process;
  document.window.began_ms = (kMidnight + begin) * 1000;
  document.window.recorded_ms = document.window.alive_ms = seconds * 1000;
  return document;
}

TEST_F(StoreTest, TimeOfProcessesIsThatInWhichSomeRan) {
  for (std::uint64_t i = 0; i < 8; ++i) put(run_of(i, 10 + 2 * static_cast<std::int64_t>(i), 1));
  const Filter filter = of_version("1.0");
  EXPECT_EQ(store_->hosts(filter)->front().recorded_ms, 8'000U) << "one after another";
  put(run_of(8, 10, 16));  // Beside all of them.
  put(run_of(9, 20, 10));  // Partly.
  EXPECT_EQ(store_->hosts(filter)->front().recorded_ms, 20'000U);
  EXPECT_EQ(store_->hosts(filter)->front().alive_ms, 20'000U);
  EXPECT_EQ(store_->steps(filter, 3600)->front().recorded_ms, 20'000U);
  EXPECT_EQ(store_->hours_of_day(filter).value()[kMidnight % 86'400 / 3600], 20'000U);
}

TEST_F(StoreTest, OnlyTheLastWindowOfAProcessIsUnsettled) {
  std::vector<Document> documents = documents_of(random_recording(13));
  for (std::size_t i = 0; i < documents.size(); ++i) {
    Window& window = documents[i].window;
    window.exact_bytes = 10'000;
    window.unsettled_bytes = 100 + i;
    window.unsettled_before = i == 0 ? 0 : 100 + i - 1;
    put(documents[i]);
  }
  Filter filter = of_version("1.0");
  const auto whole = store_->hosts(filter)->front();
  EXPECT_EQ(whole.exact_bytes, 30'000U);
  EXPECT_EQ(whole.unsettled_bytes, 102U);
  filter.from = documents[1].window.key.started;
  const auto later = store_->hosts(filter)->front();
  EXPECT_LE(later.exact_bytes, 20'000U - 100);  // Some are of the first window.
  EXPECT_GE(later.exact_bytes + later.unsettled_bytes, 20'000U + 102);
  EXPECT_EQ(store_->steps(of_version("1.0"), 86'400)->front().sums.unsettled_bytes, 102U);
}

TEST_F(StoreTest, WhatIsRemovedCanBeSentAgain) {
  std::vector<Document> all;
  for (const char* host : {"web-1", "web-2"}) {
    Origin origin = kOrigin;
    origin.host = host;
    for (const Document& document : documents_of(random_recording(14), origin)) {
      put(document);
      all.push_back(document);
    }
  }
  EXPECT_TRUE(store_->put({"web-1", all.front().window.key.process, kMidnight, kMidnight + 9, "x"})
                  .has_value());
  Filter filter = of_version("1.0");
  filter.host = "web-1";
  const auto processes = store_->processes(filter);
  ASSERT_EQ(processes->size(), 1U);
  EXPECT_EQ(processes->front().windows, 3U);
  EXPECT_TRUE(store_->remove(filter).has_value());
  EXPECT_EQ(store_->processes(filter)->size(), 0U);
  EXPECT_EQ(store_->hosts(of_version("1.0"))->size(), 1U);
  EXPECT_EQ(store_->health(0)->gaps, 0U);
  EXPECT_EQ(store_->health(0)->incomplete_windows, 0U);
  open();
  for (const Document& document : all) {
    EXPECT_EQ(put(document),
              document.window.key.host == "web-1" ? Receipt::kStored : Receipt::kKnown);
  }
  EXPECT_EQ(store_->hosts(of_version("1.0"))->size(), 2U);
}

TEST_F(StoreTest, ProcessesAreChosenByTheirSeeds) {
  for (const std::uint64_t seed : {std::uint64_t{7}, UINT64_MAX}) {
    Document document = run_of(seed, 10, 1);
    put(document);
  }
  Filter filter = of_version("1.0");
  filter.seeds = {UINT64_MAX};
  ASSERT_EQ(store_->processes(filter)->size(), 1U);
  EXPECT_EQ(store_->processes(filter)->front().process, UINT64_MAX);
}

TEST_F(StoreTest, SharedSeedsAndWrongClocksHaveNames) {
  Document document = run_of(1, 10, 1);
  put(document);
  EXPECT_TRUE(store_->with_shared_seeds()->empty());
  EXPECT_TRUE(store_->wrong_clocks()->empty());
  document.window.key.version = "1.1";
  document.window.key.host = "web-2";
  document.window.skew_ms = -90'000'000;
  put(document);
  document.window.key.host = "web-3";
  document.window.skew_ms = 0;
  document.window.seed = document.window.key.process = 3;
  document.window.key.started =
      (static_cast<std::int64_t>(std::time(nullptr)) / kGrid + 144) * kGrid;
  document.window.began_ms = document.window.key.started * 1000;
  put(document);
  const auto sharers = store_->with_shared_seeds();
  ASSERT_EQ(sharers->size(), 2U);
  EXPECT_EQ(sharers->back().host, "web-2");
  const auto clocks = store_->wrong_clocks();
  ASSERT_EQ(clocks->size(), 2U);
  EXPECT_EQ(clocks->front().measured, 90'000);
  EXPECT_NEAR(static_cast<double>(clocks->back().ahead), 86'400, 700);
}

TEST_F(StoreTest, StacksHaveVersions) {
  for (const char* version : {"1.0", "1.1"}) {
    Origin origin = kOrigin;
    origin.version = version;
    for (const Document& document : documents_of(random_recording(15), origin)) put(document);
  }
  std::map<StackId, std::size_t> versions;
  Filter filter;
  filter.service = kOrigin.service;
  EXPECT_TRUE(store_
                  ->versions_of_stacks(
                      filter, [&](StackId stack, const std::string&) { ++versions[stack]; })
                  .has_value());
  EXPECT_EQ(versions.size(), 20U);
  for (const auto& [stack, count] : versions) EXPECT_EQ(count, 2U);
}

/// What a row is of, and its counts.
using Cell = std::tuple<std::string, StackId, Bytes, Bytes, std::uint32_t, bool>;
using Counts = std::map<Cell, std::pair<std::uint64_t, std::uint64_t>>;

Store::TakeRow added_to(Counts& counts, bool has_host, bool has_stack) {
  return [&counts, has_host, has_stack](const std::string& host, const SummedRow& row) {
    auto& [allocated, live] = counts[{has_host ? host : "", has_stack ? row.stack : 0, row.size,
                                      row.interval, row.thinning, row.is_certain}];
    allocated += row.allocated;
    live += row.live_ms;
  };
}

TEST_F(StoreTest, RowsByHostAddUpToThoseOfAll) {
  for (std::uint64_t i = 0; i < 5; ++i) {
    Origin origin = kOrigin;
    origin.host = "web-" + std::to_string(i);
    for (const Document& document : documents_of(random_recording(i), origin)) put(document);
  }
  const Filter filter = of_version("1.0");
  Counts all, rows, rows_beside, by_host, hosts;
  std::string latest;
  const auto take = [&](const std::string& host, const SummedRow& row) {
    EXPECT_LE(latest, host);
    latest = host;
    added_to(all, false, true)(host, row);
    added_to(by_host, true, false)(host, row);
  };
  EXPECT_TRUE(store_->rows_by_host(filter, take).has_value());
  EXPECT_TRUE(store_->rows(filter, added_to(rows, true, true)).has_value());
  EXPECT_TRUE(
      store_->rows_and_hosts(filter, added_to(rows_beside, true, true), added_to(hosts, true, true))
          .has_value());
  std::uint64_t allocated = 0;
  for (const auto& [cell, counts] : all) allocated += counts.first;
  EXPECT_EQ(allocated, 5U * 2000);
  EXPECT_EQ(rows, all);
  EXPECT_EQ(rows_beside, all);
  EXPECT_EQ(hosts, by_host);
}

TEST_F(StoreTest, StepsAddUpToTheHosts) {
  for (const char* host : {"web-1", "web-2"}) {
    Origin origin = kOrigin;
    origin.host = host;
    for (const Document& document : documents_of(random_recording(6), origin)) put(document);
  }
  const auto steps = store_->steps(of_version("1.0"), kGrid);
  ASSERT_EQ(steps->size(), 3U);
  EXPECT_EQ(steps->front().started, kMidnight);
  EXPECT_EQ(steps->front().hosts, 2U);
  EXPECT_EQ(steps->front().recorded_ms, 1'000'000U);
  EXPECT_EQ(steps->front().sums.recorded_ms, 500'000U) << "as one host";
  std::map<std::int64_t, std::uint64_t> allocated;
  EXPECT_TRUE(store_
                  ->rows_by_time(of_version("1.0"), kGrid,
                                 [&](std::int64_t started, const SummedRow& row) {
                                   allocated[started] += row.allocated;
                                 })
                  .has_value());
  EXPECT_EQ(allocated.size(), 3U);
  EXPECT_EQ(allocated[kMidnight] + allocated[kMidnight + kGrid] + allocated[kMidnight + 2 * kGrid],
            2U * 2000);
  EXPECT_EQ(store_->steps(of_version("1.0"), 24 * 3600)->size(), 1U);
}

TEST_F(StoreTest, GapsBelongToWhatTheirProcessesRan) {
  const std::vector<Document> documents = documents_of(random_recording(7));
  put(documents[0]);
  const Key& key = documents[0].window.key;
  EXPECT_TRUE(store_->put(GapRow{key.host, key.process, 1000, 5000, "spool full"}).has_value());
  EXPECT_TRUE(store_->put(GapRow{key.host, key.process + 1, 1000, 5000, "another"}).has_value());
  Filter filter = of_version("1.0");
  ASSERT_EQ(store_->gaps(filter)->size(), 1U);
  EXPECT_EQ(store_->gaps(filter)->front().reason, "spool full");
  filter.from = 2000;
  filter.to = 4000;
  EXPECT_EQ(store_->gaps(filter)->front().first, 2000);
  EXPECT_EQ(store_->gaps(filter)->front().last, 4000);
  EXPECT_TRUE(store_->gaps(of_version("1.1"))->empty());
  const GapRow end{key.host, key.process, 6000, 6000, std::string(kOutOfMemory)};
  EXPECT_TRUE(store_->put(end).has_value());
  EXPECT_EQ(store_->gaps(of_version("1.0"))->size(), 2U);
  EXPECT_EQ(store_->health(0)->gaps, 2U) << "the end of a process is not one";
  EXPECT_EQ(store_->health(5000)->gaps, 2U);
  EXPECT_EQ(store_->health(5001)->gaps, 0U);
}

TEST_F(StoreTest, OldRefusalsAreLeftOut) {
  EXPECT_TRUE(store_->count_refusal("too old", 3).has_value());
  EXPECT_EQ(store_->health(0)->refusals.at("too old"), 3U);
  EXPECT_EQ(store_->health(std::time(nullptr) - 60)->refusals.size(), 1U);
  EXPECT_TRUE(store_->health(std::time(nullptr) + 60)->refusals.empty());
}

TEST_F(StoreTest, LabelsAndTheirLackAreStrata) {
  for (const char* zone : {"a", "b", ""}) {
    Origin origin = kOrigin;
    origin.host = std::string("web-") + zone;
    origin.labels.clear();
    if (*zone != '\0') origin.labels["zone"] = zone;
    for (const Document& document : documents_of(random_recording(8), origin)) put(document);
  }
  Filter filter = of_version("1.0");
  EXPECT_EQ(store_->label_values(filter, "zone").value(), (std::vector<std::string>{"", "a", "b"}));
  filter.labels["zone"] = "";
  ASSERT_EQ(store_->hosts(filter)->size(), 1U);
  EXPECT_EQ(store_->hosts(filter)->front().host, "web-");
}

TEST_F(StoreTest, NamesAreStoredOnce) {
  put(documents_of(random_recording(9)).front());
  auto unnamed = store_->unnamed();
  ASSERT_FALSE(unnamed->empty());
  const std::size_t all = unnamed->size();
  Location named = unnamed->front();
  named.frames = {{"inlined", "", "a.cc", 3}, {"around", "", "a.cc", 9}};
  EXPECT_TRUE(store_->put_names({named}).has_value());
  EXPECT_EQ(store_->unnamed()->size(), all - 1);
  named.frames = {{"other", "", "", 0}, {"names", "", "", 0}, {"later", "", "", 0}};
  EXPECT_TRUE(store_->put_names({named}).has_value());
  const profile::Recording recording = recall(of_version("1.0"));
  std::vector<std::string> functions;
  for (const profile::Frame& frame : recording.frames) functions.push_back(frame.function);
  EXPECT_EQ(std::ranges::count(functions, "around"), 1);
  EXPECT_EQ(std::ranges::count(functions, "later"), 0);
}

TEST_F(StoreTest, ProcessesWithOneSeedAreFound) {
  profile::Recording recording = random_recording(5);
  put(documents_of(recording).front());
  EXPECT_EQ(store_->health(0)->shared_seeds, 0U);
  recording.processes[0].pid += 1;
  put(documents_of(recording).front());
  EXPECT_EQ(store_->health(0)->shared_seeds, 1U);
}

TEST_F(StoreTest, OneRunAsTwoVersionsSharesItsSeed) {
  Origin other = kOrigin;
  other.version = "1.1";
  for (const Document& document : documents_of(random_recording(16))) put(document);
  for (const Document& document : documents_of(random_recording(17), other)) put(document);
  const std::vector<Filter> both{of_version("1.0"), of_version("1.1")};
  const auto seeds = [&](const std::vector<Filter>& parts) {
    const auto count = store_->shared_seeds(parts);
    EXPECT_TRUE(count.has_value()) << count.reason();
    return count.value();
  };
  // Recordings of tests have one seed, and these are of one process.
  EXPECT_EQ(seeds({both[0]}), 0U) << "windows of one process";
  EXPECT_EQ(seeds(both), 1U);
  EXPECT_EQ(seeds({both[0], both[0]}), 1U) << "compared with itself";
  EXPECT_EQ(store_->health(0)->shared_seeds, 1U);
}

TEST_F(StoreTest, HoursOfTheDayAreThoseOfWindows) {
  constexpr std::int64_t kHour = 3600;
  const std::vector<Document> documents = documents_of(random_recording(18));
  HoursOfDay expected{};
  for (const Document& document : documents) {
    put(document);
    expected.at(document.window.key.started % (24 * kHour) / kHour) += document.window.recorded_ms;
  }
  const Filter filter = of_version("1.0");
  EXPECT_EQ(store_->hours_of_day(filter).value(), expected);
  Filter narrow = filter;
  narrow.hours_of_day.emplace().set(documents.back().window.key.started % (24 * kHour) / kHour);
  std::uint64_t recorded = 0, samples = 0;
  for (const Document& document : documents) {
    const std::int64_t hour = document.window.key.started % (24 * kHour) / kHour;
    if (!narrow.hours_of_day->test(hour)) continue;
    recorded += document.window.recorded_ms;
    for (const CountRow& row : document.counts) samples += row.allocated;
  }
  EXPECT_EQ(store_->hosts(narrow)->front().recorded_ms, recorded);
  std::uint64_t found = 0;
  EXPECT_TRUE(
      store_
          ->rows(narrow, [&](const std::string&, const SummedRow& row) { found += row.allocated; })
          .has_value());
  EXPECT_EQ(found, samples);
  narrow.hours_of_day->reset();
  EXPECT_TRUE(store_->hosts(narrow)->empty());
}

/// What the store answers about all hosts and about each, in one list.
std::vector<std::string> answers(Store& store) {
  std::vector<std::string> all;
  const auto add = [&](const std::string& host, const SummedRow& row) {
    all.push_back(fmt::format("{} {} {} {} {} {} {} {}", host, row.stack, row.size, row.interval,
                              row.thinning, row.is_certain, row.allocated, row.live_ms));
  };
  store.expect_rows(of_version("1.0"));
  EXPECT_TRUE(store.rows(of_version("1.0"), add).has_value());
  const auto expected = std::exchange(all, {});
  EXPECT_TRUE(store.rows(of_version("1.0"), add).has_value());
  EXPECT_TRUE(std::ranges::is_permutation(all, expected));
  EXPECT_TRUE(store.rows_by_host(of_version("1.0"), add).has_value());
  const auto hosts = store.hosts(of_version("1.0"));
  for (const HostSums& host : hosts.value()) {
    all.push_back(fmt::format("{} {} {}", host.host, host.recorded_ms, host.exact_bytes));
  }
  std::ranges::sort(all);
  return all;
}

TEST_F(StoreTest, DaysThatAreAddedUpAnswerAsBefore) {
  const std::int64_t day = kMidnight / 86'400;
  const std::vector<Document> documents = documents_of(random_recording(11));
  Origin origin = kOrigin;
  origin.host = "web-2";
  const std::vector<Document> late = documents_of(random_recording(12), origin);
  for (const Document& document : documents) put(document);
  const auto before = answers(*store_);
  EXPECT_TRUE(store_->maintain({day + 2, 0, 0}).has_value());
  EXPECT_EQ(answers(*store_), before);
  // Late, and doubled, and what is rolled up is sent again.
  for (int i = 0; i < 2; ++i) {
    for (const Document& document : late) put(document);
    for (const Document& document : documents) EXPECT_EQ(put(document), Receipt::kKnown);
  }
  const auto with_late = answers(*store_);
  EXPECT_GT(with_late.size(), before.size());
  for (int i = 0; i < 2; ++i) {
    const auto again = store_->maintain({day + 2, 0, 0});
    ASSERT_TRUE(again.has_value()) << again.reason();
    EXPECT_EQ(again->short_days, 0U);
    if (i == 1) {
      EXPECT_EQ(again->rolled_days, 0U);
    }
    EXPECT_EQ(answers(*store_), with_late);
  }
}

TEST_F(StoreTest, OldDaysAreDropped) {
  const std::int64_t day = kMidnight / 86'400;
  for (const Document& document : documents_of(random_recording(13))) put(document);
  const auto before = answers(*store_);
  EXPECT_TRUE(store_->maintain({day + 9, day + 2, day}).has_value());
  EXPECT_EQ(answers(*store_), before) << "by day, if not by window";
  EXPECT_EQ(store_->maintain({day + 9, day + 2, day})->dropped_days, 0U);
  EXPECT_TRUE(store_->maintain({day + 99, day + 92, day + 2}).has_value());
  EXPECT_TRUE(store_->hosts(of_version("1.0"))->empty());
  EXPECT_TRUE(answers(*store_).empty());
}

TEST_F(StoreTest, SitesAreWrittenOnceTheirNamesAreKnown) {
  const std::vector<Document> documents = documents_of(random_recording(14));
  put(documents.front());
  const auto stacks = store_->stacks_without_sites();
  ASSERT_EQ(stacks->size(), documents.front().stacks.size());
  EXPECT_TRUE(std::ranges::is_sorted(stacks.value()));
  SiteRow named{stacks->front(), "work", "app", {"work", "main"}, true};
  SiteRow unnamed{stacks->back(), "app+0x10", "app", {"app+0x10"}, false};
  EXPECT_TRUE(store_->put_sites({named, unnamed}).has_value());
  EXPECT_EQ(store_->stacks_without_sites()->size(), stacks->size() - 1);
  unnamed.has_names = true;
  EXPECT_TRUE(store_->put_sites({unnamed}).has_value());
  EXPECT_EQ(store_->stacks_without_sites()->size(), stacks->size() - 2);
}

TEST_F(StoreTest, OtherFilesAreRefused) {
  const std::string other = directory_ / "other";
  EXPECT_FALSE(open_sqlite(other, false).has_value());
  std::ofstream(other) << "no database, but text of some length that says so";
  const auto text = open_sqlite(other, true);
  ASSERT_FALSE(text.has_value());
  EXPECT_NE(text.reason().find(other), std::string::npos);
}

TEST_F(StoreTest, DatabasesOfOtherProgramsStayAsTheyAre) {
  const std::string other = directory_ / "theirs";
  sqlite::Database(other, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
      .execute("CREATE TABLE theirs (a)");
  const auto bytes = [&] {
    std::ifstream file(other, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string before = bytes();
  for (const bool creates : {false, true}) {
    EXPECT_NE(open_sqlite(other, creates).reason().find("another program"), std::string::npos);
    EXPECT_EQ(bytes(), before);
  }
}

TEST_F(StoreTest, WhatIsSentIsInAFile) {
  EXPECT_FALSE(open_sqlite("", true).has_value());
  const auto back = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  for (const char* name : {":memory:", "file:a?mode=memory"}) {
    EXPECT_TRUE(open_sqlite(name, true).has_value());
    EXPECT_TRUE(std::filesystem::exists(directory_ / name)) << name;
  }
  std::filesystem::current_path(back);
}

/// A file that the geiger before this one made.
TEST_F(StoreTest, AFileWithoutBeginningsIsUpdated) {
  if (!std::filesystem::exists(path())) GTEST_SKIP() << "of files";
  store_.reset();
  std::filesystem::remove(path());
  std::vector<Document> documents;
  for (std::uint64_t i = 0; i < 2; ++i) documents.push_back(run_of(i, 10, 4 + i));
  {
    sqlite::Database old(path(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    for (const SchemaSection& section : sections_of(kSqliteSchema)) {
      if (section.version > 2) break;
      for (const std::string& statement : section.statements) old.execute(statement);
    }
    old.execute("PRAGMA application_id = 0x67656967; PRAGMA user_version = 2");
    for (const Document& document : documents) {
      sqlite::Statement put = old.prepare(
          "INSERT INTO windows VALUES (NULL, 'shop', '1.0', 'web-1', ?, ?, ?, ?, 1, 0, 4096, 0, ?, "
          "NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'x', ?, 0)");
      put.bind(document.window.key.process).bind(document.window.key.started);
      put.bind(document.window.recorded_ms).bind(document.window.alive_ms);
      put.bind(document.window.seed).bind(content_of(document)).run();
    }
  }
  open();
  const auto hosts = store_->hosts(of_version("1.0"));
  ASSERT_TRUE(hosts.has_value()) << hosts.reason();
  EXPECT_EQ(hosts->front().recorded_ms, 5'000U) << "as if both began with their step";
  EXPECT_EQ(put(documents.front()), Receipt::kKnown);
}

}  // namespace
}  // namespace geiger::fleet
