#include "run/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/format.h"

namespace geiger::run {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

TEST(WithRuntime, PutsThePreloadInFrontOfWhatWasThere) {
  const auto words = with_runtime({"A=1", "LD_PRELOAD=/x.so /y.so"}, {}, "/g/$LIB/p.so", "/run", 7);
  EXPECT_EQ(words[1], "LD_PRELOAD=/g/$LIB/p.so:/x.so /y.so");
  EXPECT_THAT(with_runtime({"LD_PRELOAD="}, {}, "/p.so", "/d", 7), Contains("LD_PRELOAD=/p.so"));
  EXPECT_THAT(with_runtime({}, {}, "/p.so", "/d", 7), Contains("LD_PRELOAD=/p.so"));
}

TEST(WithRuntime, ReplacesAnEnclosingRun) {
  const auto words =
      with_runtime({"GEIGER_DIR=/old", "GEIGER_SEED=7", "GEIGER_MODE=fp"}, {}, "/p.so", "/new", 7);
  EXPECT_THAT(words, ElementsAre("LD_PRELOAD=/p.so", "GEIGER_DIR=/new", "GEIGER_INTERVAL=524288",
                                 "GEIGER_CAPACITY=4294967296", "GEIGER_MODE=root=7"));
}

TEST(WithRuntime, SaysByWhichShareAnIntervalRegulatesItself) {
  RuntimeSettings settings;
  settings.share = 0.01;
  EXPECT_THAT(with_runtime({}, settings, "/p.so", "/d", 7), Contains("GEIGER_INTERVAL=auto:10000"));
  settings.share = 1e-9;
  EXPECT_THAT(with_runtime({}, settings, "/p.so", "/d", 7), Contains("GEIGER_INTERVAL=auto:1"));
}

TEST(WithRuntime, ListsTheModes) {
  RuntimeSettings settings;
  settings.seed = 0;
  settings.is_pure = settings.uses_frame_pointers = settings.starts_paused = true;
  settings.records_free_stacks = true;
  settings.guard = 16 | trace::kGuardExact;
  settings.frames = 4000;
  settings.records_mappings = false;
  settings.follows_children = false;
  const auto words = with_runtime({}, settings, "/p.so", "/d", 7);
  EXPECT_THAT(words,
              Contains("GEIGER_MODE=root=7,pure,fp,nochildren,paused,freestacks,nomappings"));
  EXPECT_THAT(words, Contains("GEIGER_SEED=0"));
  EXPECT_THAT(words, Contains("GEIGER_GUARD=16,exact"));
  EXPECT_THAT(words, Contains("GEIGER_FRAMES=4000"));
}

TEST(WithoutRuntime, LeavesEverythingElseAlone) {
  const auto words = without_runtime({"GEIGER_DIR=/d", "GEIGER_OTHER=1", "LD_PRELOAD=/x.so"});
  EXPECT_THAT(words, ElementsAre("GEIGER_OTHER=1", "LD_PRELOAD=/x.so"));
  EXPECT_THAT(words, Not(Contains(StartsWith("GEIGER_DIR"))));
}

}  // namespace
}  // namespace geiger::run
