#include "run/host_preload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace geiger::run {
namespace {

using testing::ElementsAre;

constexpr const char* kWord = "/usr/lib/geiger/$LIB/libgeiger-preload.so";
const std::string kLine = std::string(kWord) + "\n";

TEST(HostPreload, WordsAreSeparatedAsByTheLoader) {
  EXPECT_THAT(runtime_words_in("/a.so:/g/libgeiger-preload.so /b.so\t/h/libgeiger-preload.so"),
              ElementsAre("/g/libgeiger-preload.so", "/h/libgeiger-preload.so"));
  EXPECT_THAT(runtime_words_in("# /g/libgeiger-preload.so\n/a.so #/g/libgeiger-preload.so\n"),
              ElementsAre());
  EXPECT_THAT(runtime_words_in("/g/libgeiger-preload.so.1 /g/xlibgeiger-preload.so"),
              ElementsAre());
}

TEST(HostPreload, IsPutFirst) {
  EXPECT_EQ(with_runtime_word("", kWord), kLine);
  EXPECT_EQ(with_runtime_word("# by hand\n/a.so  /b.so\n\n", kWord),
            kLine + "# by hand\n/a.so  /b.so\n\n");
  EXPECT_EQ(with_runtime_word("/a.so", kWord), kLine + "/a.so");  // Without the end of a line.
}

TEST(HostPreload, IsPutOnce) {
  for (const std::string& list : {kLine, "/a.so:" + kLine, std::string(kWord)}) {
    EXPECT_EQ(with_runtime_word(list, kWord), list);
  }
  EXPECT_EQ(with_runtime_word("/opt/g/libgeiger-preload.so\n/a.so\n", kWord), kLine + "/a.so\n");
  EXPECT_EQ(with_runtime_word(kLine + kLine, kWord), kLine);
}

TEST(HostPreload, OnlyItsWordsAreTakenOut) {
  EXPECT_EQ(with_runtime_word(kLine, ""), "");
  EXPECT_EQ(with_runtime_word("/a.so\n" + kLine + "/b.so", ""), "/a.so\n/b.so");
  EXPECT_EQ(with_runtime_word("/a.so: " + kLine + "/b.so\n", ""), "/a.so: \n/b.so\n");
  EXPECT_EQ(with_runtime_word("/g/libgeiger-preload.so # of geiger\n\n/b.so\n", ""),
            "# of geiger\n\n/b.so\n");
  EXPECT_EQ(with_runtime_word("/a.so\n", ""), "/a.so\n");
}

}  // namespace
}  // namespace geiger::run
