#include "analysis/present/text.h"

#include <gtest/gtest.h>

#include "analysis/present/sentence.h"

namespace geiger::present {
namespace {

TEST(Printable, NeutralisesWhatWouldMoveTheCursor) {
  EXPECT_EQ(printable("a\x1b[31mred\x07\r\n\tb"), "a\\x1b[31mred\\x07\\x0d\\x0a\\x09b");
  EXPECT_EQ(printable("csi\xc2\x9b"
                      "31m"),
            "csi\\x9b31m");
  // NOLINTNEXTLINE(misc-misleading-bidirectional): it is what is tested.
  EXPECT_EQ(printable("ab\xe2\x80\xae"
                      "dc"),
            "ab\\u202edc");
}

TEST(Printable, KeepsOrdinaryNames) {
  EXPECT_EQ(printable("std::vector<int, A<int>>::push_back"),
            "std::vector<int, A<int>>::push_back");
  EXPECT_EQ(printable("größe→日本"), "größe→日本");
}

TEST(Printable, ShowsInvalidBytes) {
  EXPECT_EQ(printable("\xff\xc0\x80"), "\\xff\\xc0\\x80");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // A surrogate.
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");           // Cut short.
}

TEST(Columns, CountsWhatATerminalShows) {
  EXPECT_EQ(columns_of("abc"), 3U);
  EXPECT_EQ(columns_of("größe"), 5U);
  EXPECT_EQ(columns_of("日本"), 4U);
  EXPECT_EQ(columns_of("e\xcc\x81"), 1U);
}

TEST(Text, AClauseBecomesASentence) {
  EXPECT_EQ(as_sentence("nothing was seen"), "Nothing was seen.");
  EXPECT_EQ(as_sentence("5 were."), "5 were.");
  EXPECT_EQ(as_sentence(""), "");
}

TEST(Elide, KeepsBothEnds) {
  EXPECT_EQ(elide("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(elide("abcdefghijk", 10), "abcde…hijk");
  EXPECT_EQ(elide("日本日本日本", 5), "日…本");
  EXPECT_EQ(elide("abc", 1), "…");
  EXPECT_EQ(elide("abc", 0), "");
}

TEST(Text, LinesAreWrappedOneByOne) {
  EXPECT_EQ(wrap_lines("one two three\nfour\n", 9), "one two\nthree\nfour\n");
  EXPECT_EQ(wrap_lines("± ± ±", 3), "± ±\n±\n");
  EXPECT_EQ(wrap_lines("", 3), "");
}

}  // namespace
}  // namespace geiger::present
