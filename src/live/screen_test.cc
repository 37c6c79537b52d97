#include "live/screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analysis/present/text.h"
#include "analysis/profile/testing/example_recording.h"

namespace geiger::live {
namespace {

using ::testing::HasSubstr;

std::string text_of(const terminal::Screen& screen) {
  std::string text;
  for (const terminal::ScreenLine& line : screen) {
    for (const terminal::Span& span : line) text += span.text;
    text += '\n';
  }
  return text;
}

struct LiveScreens : ::testing::Test {
  profile::Recording picture = profile::example::small_server();
  LiveView view;
  LiveHistory history;
  present::Style style;
  std::optional<report::LiveChanges> changes;

  [[nodiscard]] report::LiveReport report() const {
    return live_report(picture, {{0, 4711, "server", "recording", 1 << 30}}, view.options, changes);
  }
  [[nodiscard]] terminal::Screen draw(ScreenSize size) const {
    return draw_live(view, report(), picture, history, size, style);
  }
};

TEST_F(LiveScreens, TellsHowManyNamesAreMissing) {
  EXPECT_THAT(text_of(draw({100, 24})), ::testing::Not(HasSubstr("looking up")));
  view.names_missing = 1234;
  EXPECT_THAT(text_of(draw({100, 24})), HasSubstr("looking up 1,234 names · recording"));
}

TEST_F(LiveScreens, FitsEverySize) {
  for (int i = 0; i < 300; ++i) history.add(i * 1'000'000'000ULL, {i * 1e6, i * 2e6}, 400 << 20);
  changes = {.start = {90'000'000'000, 90, {}, {}},
             .recent = report::LiveChange{31'000'000'000, 31, {}, {}}};
  for (const Pane pane : {Pane::kTable, Pane::kRow, Pane::kHelp}) {
    view.pane = pane;
    for (const std::size_t width : {1, 20, 60, 61, 80, 110, 200, 400}) {
      for (const std::size_t height : {1, 5, 12, 24, 36, 60}) {
        const terminal::Screen screen = draw({width, height});
        EXPECT_EQ(screen.size(), height);
        for (const terminal::ScreenLine& line : screen)
          EXPECT_LE(terminal::columns_of(line), width);
      }
    }
  }
}

TEST_F(LiveScreens, ShowsGrowthWhereItIsKnown) {
  EXPECT_THAT(text_of(draw({80, 24})), HasSubstr("growth is shown from the next update on"));
  changes = {.start = {90'000'000'000, 90, {}, {}},
             .recent = report::LiveChange{31'000'000'000, 31, {}, {}}};
  const std::string text = text_of(draw({80, 24}));
  EXPECT_THAT(text, HasSubstr("no growth shown over 1 min 30 s"));
  EXPECT_THAT(text, HasSubstr("growth in 1 min 30 s"));
  EXPECT_THAT(text, HasSubstr("/s ± "));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("share")));
  view.options.growth_of = report::GrowthOf::kRecent;
  EXPECT_THAT(text_of(draw({100, 24})), HasSubstr("growth last 31.0 s"));
  EXPECT_THAT(text_of(draw({100, 24})), HasSubstr("share"));
  EXPECT_THAT(text_of(draw({120, 24})), HasSubstr("samples  function"));
  view.options.kind = profile::Kind::kAllocated;
  EXPECT_THAT(text_of(draw({80, 24})), HasSubstr("share"));
  view.counts_itself = true;
  EXPECT_THAT(text_of(draw({80, 24})),
              HasSubstr("growth is not available for aggregated recordings"));
}

// A program that frees its heap at exit grew nevertheless.
TEST_F(LiveScreens, KeepsWhatGrewWhenTheProgramEnds) {
  const profile::Sample& made = picture.samples.front();
  picture.tallies.push_back({.alike = made, .allocated = 400});
  changes = {.start = {90'000'000'000, 90, {400}, {0}}, .recent = {}};
  view.grew = report().growth;
  ASSERT_EQ(view.grew.growing(), 1U);
  const std::string grows = sentence(view.grew);
  changes = {.start = {91'000'000'000, 91, {400}, {400}}, .recent = {}};
  EXPECT_THAT(text_of(draw({120, 24})), HasSubstr("no growth shown over"));
  view.has_ended = true;
  EXPECT_THAT(text_of(draw({120, 24})), HasSubstr(" before the end: " + grows));
}

TEST_F(LiveScreens, SaysWhatItNeeds) {
  EXPECT_THAT(text_of(draw({40, 10})), HasSubstr("needs 60 x 12, has 40 x 10"));
}

TEST_F(LiveScreens, ShowsTotalsWithTheirErrors) {
  const std::string text = text_of(draw({80, 24}));
  for (const char* part : {"geiger live", "recording", "1 in 512 KiB", "live heap", "±", "RSS",
                           "1 GiB", "make_buffer", "q quit"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST_F(LiveScreens, ShowsNamesAsText) {
  for (profile::Frame& frame : picture.frames)
    frame.function =
        "a\x1b]0;b\x07\n\xff\u202e"
        "c";
  view.shown = "\x1b[2J";
  view.filter = "\x1b[2J";
  view.message = "\x1b[2J";
  for (const Pane pane : {Pane::kTable, Pane::kRow}) {
    view.pane = pane;
    const std::string text = text_of(draw({200, 30}));
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find("\u202e"), std::string::npos);
    EXPECT_THAT(text, HasSubstr("\\x1b]0;b\\x07"));
  }
}

TEST_F(LiveScreens, DrawsInAsciiWhereNothingElseIsShown) {
  style.has_unicode = false;
  history.add(1, {1e6, 2e6}, 1 << 20);
  for (const Pane pane : {Pane::kTable, Pane::kRow}) {
    view.pane = pane;
    for (const char c : text_of(draw({100, 40}))) EXPECT_GE(c, 0);
  }
}

TEST(LiveHistory, KeepsTheEndsOfWhatItMerges) {
  LiveHistory history;
  constexpr int kLooks = 100'000;
  for (int i = 0; i < kLooks; ++i) {
    const double value = i == 50'001 ? 1e9 : i;
    history.add(static_cast<Nanoseconds>(i), {value, value + 1}, i == 7 ? 99'999'999 : 1);
  }
  EXPECT_EQ(history.length(), kLooks - 1U);
  const auto points = history.columns(50);
  ASSERT_EQ(points.size(), 50U);
  double highest = 0, resident = 0;
  for (const HistoryPoint& point : points) {
    highest = std::max(highest, point.live.hi);
    resident = std::max(resident, point.resident);
  }
  EXPECT_EQ(highest, 1e9 + 1);
  EXPECT_EQ(resident, 99'999'999);
  EXPECT_EQ(points.front().live.lo, 0);
  EXPECT_EQ(points.back().to, kLooks - 1U);
}

}  // namespace
}  // namespace geiger::live
