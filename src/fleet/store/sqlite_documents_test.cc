#include "fleet/store/sqlite_documents.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "fleet/document/test_documents.h"
#include "fleet/store/store.h"

namespace geiger::fleet {
namespace {

std::unique_ptr<Store> opened(const std::filesystem::path& path) {
  auto store = open_sqlite(path, true);
  EXPECT_TRUE(store.has_value()) << store.reason();
  return std::move(store.value());
}

TEST(SqliteDocuments, CellsThatAnotherProcessDeletesAreMadeAgain) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("geiger-cells-{}.db", getpid());
  std::filesystem::remove(path);
  const std::unique_ptr<Store> store = opened(path);
  std::vector<Document> documents = documents_of(random_recording(21));
  EXPECT_TRUE(store->put(documents[0]).has_value());
  constexpr std::int64_t kDays = 10, kDaySeconds = 86'400;
  const std::int64_t today = documents[0].window.key.started / kDaySeconds + kDays;
  EXPECT_TRUE(opened(path)->maintain({today, today, today}).has_value());
  // Other cells get the numbers of those that are gone.
  EXPECT_TRUE(opened(path)->put(documents[1]).has_value());
  documents[0].window.key.started += kDays * kDaySeconds;
  EXPECT_TRUE(store->put(documents[0]).has_value());

  std::vector<CountRow> rows;
  Filter filter;
  filter.service = kOrigin.service;
  filter.from = documents[0].window.key.started;
  const auto asked = store->rows(filter, [&](const std::string& /*host*/, const SummedRow& row) {
    if (row.allocated == 0 && row.live_ms == 0) return;
    rows.push_back({row.stack, row.size, row.interval, row.thinning, row.is_certain, row.allocated,
                    row.live_ms / documents[0].window.recorded_ms});
  });
  EXPECT_TRUE(asked.has_value()) << asked.reason();
  std::ranges::sort(rows);
  EXPECT_EQ(rows, documents[0].counts);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace geiger::fleet
