// The reader of line tables against what interpreters themselves read from them: a file of tables
// that tests/python_lines.py writes, and tables that no interpreter makes.
#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/ingest/decode/interpreted_code.h"

namespace geiger::ingest {
namespace {

std::vector<std::uint8_t> bytes_of(const std::string& hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    std::uint8_t byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    bytes.push_back(byte);
  }
  return bytes;
}

/// A line of the file: version, first line, table, and "FIRST-END:LINE" of each stretch.
struct Expected {
  std::uint32_t version = 0;
  std::int32_t first_line = 0;
  std::vector<std::uint8_t> table;
  std::string stretches;
};

bool read(std::istream& in, Expected& expected) {
  std::string text, version, first, hex;
  if (!std::getline(in, text)) return false;
  std::istringstream fields(text);
  std::getline(fields, version, '\t');
  std::getline(fields, first, '\t');
  std::getline(fields, hex, '\t');
  std::getline(fields, expected.stretches);
  expected.version = static_cast<std::uint32_t>(std::stoul(version, nullptr, 16));
  expected.first_line = std::stoi(first);
  expected.table = bytes_of(hex);
  return true;
}

/// The first instruction whose line differs, in words; empty: none.
std::string difference(const Expected& expected) {
  const PythonLines lines(expected.version, expected.first_line, expected.table, false);
  std::istringstream stretches(expected.stretches);
  std::string text;
  while (stretches >> text) {
    std::uint32_t start = 0, end = 0;
    std::int64_t line = expected.first_line;
    char dash = 0, colon = 0;
    std::istringstream stretch(text);
    stretch >> start >> dash >> end >> colon;
    // What a module begins with is at line 0 from 3.11 on, which no source has.
    if (!(stretch >> line) || line == 0) line = expected.first_line;
    for (std::uint32_t unit = start / 2; unit < end / 2; ++unit) {
      const std::uint32_t found = lines.at(unit);
      if (found == std::max<std::int64_t>(line, 0)) continue;
      return "unit " + std::to_string(unit) + ": line " + std::to_string(found) + " in " + text;
    }
  }
  return "";
}

TEST(PythonLines, AreAsTheInterpreterReadsThem) {
  const char* const other = std::getenv("GEIGER_PYTHON_LINES");
  std::ifstream file(other != nullptr ? other
                                      : GEIGER_SOURCE_DIR "/tests/vectors/python_lines.tsv");
  Expected expected;
  std::size_t tables = 0;
  for (; read(file, expected); ++tables) {
    ASSERT_EQ(difference(expected), "")
        << "table " << tables << ", version " << std::hex << expected.version;
  }
  EXPECT_GT(tables, 50U);
}

constexpr std::uint32_t kVersion39 = 0x030909f0, kVersion310 = 0x030a0df0, kVersion311 = 0x030b02f0;

TEST(PythonLines, AreThoseOfTheFunctionWhereThereIsNoTable) {
  for (const std::uint32_t version : {kVersion39, kVersion310, kVersion311}) {
    const PythonLines lines(version, 17, {}, false);
    EXPECT_EQ(lines.at(0), 17U);
    EXPECT_EQ(lines.at(0xfffffe), 17U);
  }
  EXPECT_EQ(PythonLines(kVersion311, -5, {}, false).at(3), 0U);
}

TEST(PythonLines, EndWithACutTable) {
  const std::vector<std::uint8_t> pairs{4, 1, 4, 1};
  EXPECT_EQ(PythonLines(kVersion39, 10, pairs, false).at(4), 12U);
  EXPECT_EQ(PythonLines(kVersion39, 10, pairs, true).at(4),
            10U);  // How far line 12 reaches is missing.
  EXPECT_EQ(PythonLines(kVersion39, 10, pairs, true).at(2), 11U);
  EXPECT_EQ(PythonLines(kVersion310, 10, pairs, true).at(3), 12U);
  EXPECT_EQ(PythonLines(kVersion310, 10, pairs, true).at(4), 10U);
}

TEST(PythonLines, OfEntriesWithoutALineAreTheFunctions) {
  // A line forward, no location, a line forward.
  const std::vector<std::uint8_t> table{0xe8, 0x02, 0xf8, 0xe8, 0x02};
  const PythonLines lines(kVersion311, 10, table, false);
  EXPECT_EQ(lines.at(0), 11U);
  EXPECT_EQ(lines.at(1), 10U);
  EXPECT_EQ(lines.at(2), 12U);
  EXPECT_EQ(lines.at(3), 10U);
}

TEST(PythonLines, SurviveAnyBytes) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::uint8_t> table(random() % 200);
    for (std::uint8_t& byte : table) byte = static_cast<std::uint8_t>(random());
    const std::uint32_t version = 0x03080000U + (static_cast<std::uint32_t>(random() % 8) << 16);
    const PythonLines lines(version, static_cast<std::int32_t>(random()), table, round % 2 == 0);
    for (std::uint32_t unit = 0; unit < 2000; unit += 7) {
      EXPECT_LE(lines.at(unit), 0x7fffffffU);
    }
  }
}

}  // namespace
}  // namespace geiger::ingest
