#include "fleet/store/schema.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fleet/store/clickhouse_server.h"

namespace geiger::fleet {
namespace {

TEST(SchemaSections, AreStatementsByVersion) {
  const auto sections = sections_of(
      "-- about it\n-- version 1\nCREATE a (  -- why; and how\n  b);\nCREATE c;\n-- version "
      "2\nALTER;");
  ASSERT_EQ(sections.size(), 2U);
  EXPECT_EQ(sections[0].statements, (std::vector<std::string>{"CREATE a (\n  b)\n", "CREATE c\n"}));
  EXPECT_EQ(sections[1].version, 2);
}

TEST(ClickHouseSchema, OldServersGetWhatTheyKnow) {
  EXPECT_EQ(
      for_old_servers("a LowCardinality(String) CODEC(Delta, ZSTD(3)), b UInt8\n) ENGINE = x\n"
                      "TTL day + 1 SETTINGS y = 1\n"),
      "a String, b UInt8\n) ENGINE = x\n\n");
  EXPECT_EQ(for_old_servers("ALTER TABLE a ADD COLUMN IF NOT EXISTS b UInt8, ADD COLUMN c UInt8"),
            "ALTER TABLE a ADD COLUMN b UInt8, ADD COLUMN c UInt8");
}

TEST(TabRows, ComeInPieces) {
  std::vector<std::string> seen;
  TabRows rows([&](const TabRow& row) {
    seen.push_back(row.text(0) + "|" + std::to_string(row.number(1)) + "|" + row.text(2));
  });
  for (const char* piece : {"a\\tb\t1", "8446744073709551615\t\n", "c\\\\\t-", "2\tx"}) {
    rows.add(piece);
  }
  EXPECT_FALSE(rows.is_whole());
  rows.add("\n");
  EXPECT_TRUE(rows.is_whole());
  EXPECT_EQ(seen, (std::vector<std::string>{"a\tb|18446744073709551615|", "c\\|0|x"}));
}

}  // namespace
}  // namespace geiger::fleet
