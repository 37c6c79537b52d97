#include "fleet/store/store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "analysis/profile/profile.h"
#include "fleet/document/test_documents.h"

namespace geiger::fleet {
namespace {

using profile::Kind;

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
    open();
  }
  ~StoreTest() override {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  void open() {
    store_.reset();
    auto opened = open_sqlite(path(), true);
    ASSERT_TRUE(opened.has_value()) << opened.reason();
    store_ = std::move(opened.value());
  }
  [[nodiscard]] std::string path() const { return directory_ / "fleet.db"; }

  Receipt put(const Document& document) {
    const auto receipt = store_->put(document);
    EXPECT_TRUE(receipt.has_value()) << receipt.reason();
    return receipt.value();
  }

  profile::Recording recall(const Filter& filter, Kind kind = Kind::kAllocated) {
    Recall recall(kind);
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
  EXPECT_EQ(store_->health()->incomplete_windows, 0U);
}

TEST_F(StoreTest, AStackIdWithOtherLocationsIsRefusedAsAWhole) {
  std::vector<Document> documents = documents_of(random_recording(3));
  EXPECT_EQ(put(documents[0]), Receipt::kStored);
  documents[1].stacks.front().locations.push_back(documents[1].locations.front().id);
  EXPECT_EQ(put(documents[1]), Receipt::kOtherStack);
  EXPECT_EQ(store_->hosts(of_version("1.0"))->front().windows, 1U);
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
}

TEST_F(StoreTest, RowsByHostAddUpToThoseOfAll) {
  for (std::uint64_t i = 0; i < 5; ++i) {
    Origin origin = kOrigin;
    origin.host = "web-" + std::to_string(i);
    for (const Document& document : documents_of(random_recording(i), origin)) put(document);
  }
  std::uint64_t all = 0, each = 0, live = 0, live_each = 0;
  std::string latest;
  EXPECT_TRUE(store_
                  ->rows(of_version("1.0"),
                         [&](const std::string& /*host*/, const SummedRow& row) {
                           all += row.allocated;
                           live += row.live_ms;
                         })
                  .has_value());
  EXPECT_TRUE(store_
                  ->rows_by_host(of_version("1.0"),
                                 [&](const std::string& host, const SummedRow& row) {
                                   EXPECT_LE(latest, host);
                                   latest = host;
                                   each += row.allocated;
                                   live_each += row.live_ms;
                                 })
                  .has_value());
  EXPECT_EQ(all, 5U * 2000);
  EXPECT_EQ(all, each);
  EXPECT_EQ(live, live_each);
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
  EXPECT_EQ(store_->health()->shared_seeds, 0U);
  recording.processes[0].pid += 1;
  put(documents_of(recording).front());
  EXPECT_EQ(store_->health()->shared_seeds, 1U);
}

TEST_F(StoreTest, OtherFilesAreRefused) {
  const std::string other = directory_ / "other";
  EXPECT_FALSE(open_sqlite(other, false).has_value());
  std::ofstream(other) << "no database, but text of some length that says so";
  const auto text = open_sqlite(other, true);
  ASSERT_FALSE(text.has_value());
  EXPECT_NE(text.reason().find(other), std::string::npos);
}

}  // namespace
}  // namespace geiger::fleet
