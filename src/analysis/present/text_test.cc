#include "analysis/present/text.h"

#include <gtest/gtest.h>

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

TEST(Text, APlaceNeverLosesItsLine) {
  constexpr std::string_view kPlace = "sessions.cc:125 +2";
  EXPECT_EQ(fit_place(kPlace, 18), kPlace);
  EXPECT_EQ(fit_place(kPlace, 17), "sessions.cc:125");
  EXPECT_EQ(fit_place(kPlace, 14), "sessi…s.cc:125");
  EXPECT_EQ(fit_place(kPlace, 8), "se…c:125");
  EXPECT_EQ(fit_place(kPlace, 7), "");
  EXPECT_EQ(fit_place("a.c:7", 5), "a.c:7");
  EXPECT_EQ(fit_place("sessions.cc:123-125", 16), "sess….cc:123-125");
  EXPECT_EQ(tail_within(kPlace, 40, 20), "  " + std::string(kPlace));
  EXPECT_EQ(tail_within(kPlace, 40, 22), "  sessions.cc:125");
  for (const char* other :
       {"server", "main.cc", "a < b", "a:b", ":7", "7", "", "x:7 2", "std::f +2"})
    EXPECT_FALSE(is_place(other)) << other;
}

TEST(Text, CallersAreCutBetweenNames) {
  EXPECT_EQ(fit_callers("parse < load < main", 19), "parse < load < main");
  EXPECT_EQ(fit_callers("parse < load < main", 18), "parse < load < …");
  EXPECT_EQ(fit_callers("parse < load < main", 15), "parse < …");
  EXPECT_EQ(fit_callers("parse < load < main", 8), "");
  EXPECT_EQ(fit_callers("store::parse < load < main", 12), "…parse < …");
  EXPECT_EQ(fit_callers("… < load < main", 14), "… < load < …");
  EXPECT_EQ(fit_callers("… < load < main", 11), "") << "an ellipsis alone says nothing";
}

}  // namespace
}  // namespace geiger::present
