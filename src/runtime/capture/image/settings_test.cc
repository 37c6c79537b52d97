#include "runtime/capture/image/settings.h"

#include <gtest/gtest.h>

#include <string>

#include "trace/format.h"

namespace geiger::capture {
namespace {

const std::string kDirectory = "GEIGER_DIR=/tmp\n";

bool reads(const std::string& lines, Settings& settings) {
  settings = {};
  return read_settings_from((kDirectory + lines).c_str(), settings);
}

Settings settings_of(const std::string& lines) {
  Settings settings;
  EXPECT_TRUE(reads(lines, settings)) << lines;
  return settings;
}

void expect_refused(const std::string& lines) {
  Settings settings;
  EXPECT_FALSE(reads(lines, settings)) << lines;
}

TEST(Settings, AreLinesOfNamesAndValues) {
  const Settings settings = settings_of(
      "GEIGER_INTERVAL=4096\nGEIGER_CAPACITY=1048576\nGEIGER_SEED=18446744073709551615\n"
      "GEIGER_SEGMENT=7\nGEIGER_KEEP=64\nGEIGER_LIVE=1024\nXDG_RUNTIME_DIR=/run/user/7\nOTHER=1");
  EXPECT_STREQ(settings.directory, "/tmp");
  EXPECT_STREQ(settings.runtime_directory, "/run/user/7");
  EXPECT_EQ(settings.interval, 4096U);
  EXPECT_EQ(settings.capacity, 1'048'576U);
  EXPECT_TRUE(settings.has_seed);
  EXPECT_EQ(settings.seed, ~std::uint64_t{0});
  EXPECT_EQ(settings.segment, 7U);
  EXPECT_EQ(settings.keep, 64U);
  EXPECT_EQ(settings.live, 1024U);
  EXPECT_FALSE(settings.is_dormant);
  EXPECT_FALSE(settings.in_memory);
}

TEST(Settings, MayLeaveTheIntervalToItself) {
  EXPECT_EQ(settings_of("GEIGER_INTERVAL=4096").share, 0U);
  EXPECT_EQ(settings_of("GEIGER_INTERVAL=auto").share, 10'000U);
  EXPECT_EQ(settings_of("GEIGER_INTERVAL=auto").interval, 16 * kKiB);
  EXPECT_EQ(settings_of("GEIGER_INTERVAL=auto:500").share, 500U);
  const Settings asleep = settings_of("GEIGER_INTERVAL=auto\nGEIGER_MODE=dormant");
  EXPECT_EQ(asleep.share, 0U);
  EXPECT_EQ(asleep.interval, 512 * kKiB);
  for (const std::string value :
       {"Auto", "aut", "autos", "auto:", "auto:0", "auto:x", "auto:1000000", "auto:5,", "auto 5"}) {
    expect_refused("GEIGER_INTERVAL=" + value + "\n");
  }
}

TEST(Settings, HaveDefaults) {
  const Settings settings = settings_of("");
  EXPECT_EQ(settings.interval, 512 * kKiB);
  EXPECT_EQ(settings.capacity, 4 * kGiB);
  EXPECT_EQ(settings.runtime_directory, nullptr);
  EXPECT_FALSE(settings.has_seed);
  EXPECT_TRUE(settings.follow_children);
  EXPECT_TRUE(settings.records_mappings);
}

TEST(Settings, MayBeManyWords) {
  const Settings all = settings_of(
      "GEIGER_MODE=pure,fp,,paused,freestacks,nomappings,nochildren,dormant,root=17,"
      "scanner=18,");
  EXPECT_TRUE(all.is_pure && all.use_frame_pointers && all.starts_paused && all.free_stacks);
  EXPECT_FALSE(all.records_mappings || all.follow_children);
  EXPECT_TRUE(all.is_dormant);
  EXPECT_EQ(all.root_pid, 17U);
  EXPECT_EQ(all.scanner_pid, 18U);
  EXPECT_FALSE(settings_of("GEIGER_MODE=").is_pure);
  EXPECT_EQ(all.python, Settings::Python::kAll);
  EXPECT_EQ(settings_of("GEIGER_MODE=pystacks").python, Settings::Python::kStacks);
  EXPECT_EQ(settings_of("GEIGER_MODE=nopython").python, Settings::Python::kOff);
}

// Tallies are not carried over.
TEST(Settings, ThatAggregateHaveNoSegments) {
  const Settings settings = settings_of("GEIGER_MODE=aggregate\nGEIGER_SEGMENT=65536");
  EXPECT_TRUE(settings.aggregates);
  EXPECT_EQ(settings.segment, 0U);
}

TEST(Settings, ThatAreNoNumbersAreRefused) {
  for (const std::string name :
       {"INTERVAL", "CAPACITY", "SEED", "SEGMENT", "KEEP", "LIVE", "FRAMES"}) {
    for (const std::string value : {"", "x", "-1", "0x10", "1k", " 1", "1 ", ":", "/",
                                    "18446744073709551616", "184467440737095516150"}) {
      expect_refused("GEIGER_" + name + "=" + value + "\n");
    }
  }
}

TEST(Settings, OfGuardModeAreARateAndAPlace) {
  EXPECT_EQ(settings_of("GEIGER_GUARD=16").guard, 16U);
  EXPECT_EQ(settings_of("GEIGER_GUARD=16,exact").guard, 16U | trace::kGuardExact);
  EXPECT_EQ(settings_of("GEIGER_GUARD=0,exact").guard, 0U);
  for (const std::string value : {"", ",exact", "16,", "16,Exact", "16,exact,", "1/16", "-1"}) {
    expect_refused("GEIGER_GUARD=" + value);
  }
}

TEST(Settings, OutOfTheirBoundsAreRefused) {
  expect_refused("GEIGER_INTERVAL=0");
  expect_refused("GEIGER_INTERVAL=1099511627777");  // Above 2^40.
  expect_refused("GEIGER_KEEP=65");
  expect_refused("GEIGER_LIVE=1023");
  expect_refused("GEIGER_FRAMES=254");
  expect_refused("GEIGER_FRAMES=262145");
  expect_refused("GEIGER_GUARD=1000001");
}

TEST(Settings, OfUnknownModesAreRefused) {
  for (const char* mode : {"x", "Pure", "pure,x", "root", "root=", "root=x", "rooT=1", "pure ",
                           "purely", "pur", "pure,root=1x"}) {
    expect_refused(std::string("GEIGER_MODE=") + mode);
  }
  expect_refused("GEIGER_MODE=off");
  expect_refused("GEIGER_MODE=pure,off");
}

TEST(Settings, NeedADirectoryThatIsAPath) {
  Settings settings;
  EXPECT_FALSE(read_settings_from("", settings));
  EXPECT_FALSE(read_settings_from("GEIGER_INTERVAL=1\n", settings));
  EXPECT_FALSE(read_settings_from("GEIGER_DIR=traces\n", settings));
  EXPECT_FALSE(read_settings_from("GEIGER_DIR=\n", settings));
  const std::string longest(1022, 'd');
  EXPECT_TRUE(read_settings_from(("GEIGER_DIR=/" + longest).c_str(), settings));
  EXPECT_FALSE(read_settings_from(("GEIGER_DIR=/d" + longest).c_str(), settings));
}

TEST(Settings, OfTooMuchTextAreRefused) {
  std::string lines;
  for (int i = 0; i < 15; ++i) lines += "A=\n";
  settings_of(lines);
  expect_refused(lines + "A=\n");
  expect_refused("A=" + std::string(4096, 'a'));
}

// An invalid directory for calls is ignored.
TEST(Settings, WithoutAPlaceForCallsDoWithoutIt) {
  EXPECT_EQ(settings_of("XDG_RUNTIME_DIR=run").runtime_directory, nullptr);
  EXPECT_EQ(settings_of("XDG_RUNTIME_DIR=/" + std::string(300, 'r')).runtime_directory, nullptr);
}

}  // namespace
}  // namespace geiger::capture
