#include <gtest/gtest.h>

#include <random>

#include "analysis/symbolize/symbolize.h"

namespace geiger::symbolize {
namespace {

using profile::Location;
using profile::Recording;

std::uint32_t add_stack(Recording& recording, std::vector<std::uint32_t> locations) {
  recording.stacks.push_back({std::move(locations), false});
  return static_cast<std::uint32_t>(recording.stacks.size() - 1);
}

void add_sample(Recording& recording, std::uint32_t process, std::uint32_t stack,
                std::uint32_t free_stack = profile::kNone) {
  profile::Sample sample;
  sample.process = process;
  sample.stack = stack;
  sample.free_stack = free_stack;
  recording.samples.push_back(sample);
}

/// Two processes that share a library, without names.
Recording bare_recording() {
  Recording recording;
  recording.processes.resize(2);
  recording.modules = {{"/bin/app", "aa", 0x1000, 0x2000, 0},
                       {"/lib/shared.so", "bb", 0x5000, 0x6000, 0x5000}};
  recording.locations = {{0, 0x10, 0, {}},
                         {1, 0x20, 0, {}},
                         {1, 0x30, 1, {}},
                         {profile::kNone, 0x7000, 0, {}},
                         {profile::kNone, 0x7000, 1, {}}};
  add_sample(recording, 0, add_stack(recording, {0, 1, 3}));
  add_sample(recording, 1, add_stack(recording, {1, 4}), add_stack(recording, {2}));
  return recording;
}

Recording named_recording() {
  Recording recording = bare_recording();
  recording.frames = {{"inlined()", "_Z7inlinedv", "/src/a.h", 3},
                      {"main", "main", "/src/a.cc", 9},
                      {"shared_one", "shared_one", "", 0},
                      {"shared_two", "shared_two", "", 0},
                      {"jit zero", "", "", 0},
                      {"jit one", "", "", 0}};
  recording.locations[0].frames = {0, 1};
  recording.locations[1].frames = {2};
  recording.locations[2].frames = {3};
  recording.locations[3].frames = {4};
  recording.locations[4].frames = {5};
  return recording;
}

std::vector<std::string> functions(const Recording& recording, std::uint32_t location) {
  std::vector<std::string> names;
  for (const std::uint32_t frame : recording.locations[location].frames) {
    names.push_back(recording.frames[frame].function);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(StoredSymbols, NamesComeBack) {
  const Recording named = named_recording();
  Recording bare = bare_recording();
  EXPECT_TRUE(apply_symbols(encode_symbols(named, 0), 0, bare).has_value());
  EXPECT_FALSE(bare.is_symbolized);
  EXPECT_TRUE(apply_symbols(encode_symbols(named, 1), 1, bare).has_value());
  EXPECT_TRUE(bare.is_symbolized);
  for (std::uint32_t i = 0; i < bare.locations.size(); ++i) {
    EXPECT_EQ(functions(bare, i), functions(named, i));
  }
  const profile::Frame& inlined = bare.frames[bare.locations[0].frames[0]];
  EXPECT_EQ(inlined.system_name, "_Z7inlinedv");
  EXPECT_EQ(inlined.file, "/src/a.h");
  EXPECT_EQ(inlined.line, 3U);
}

TEST(StoredSymbols, APayloadHoldsWhatItsProcessUses) {
  // Location 1 was seen first in process 0, but process 1 uses it too.
  const Recording named = named_recording();
  Recording bare = bare_recording();
  EXPECT_TRUE(apply_symbols(encode_symbols(named, 1), 1, bare).has_value());
  EXPECT_EQ(functions(bare, 0), Names{});
  EXPECT_EQ(functions(bare, 1), Names{"shared_one"});
  EXPECT_EQ(functions(bare, 2), Names{"shared_two"});
  EXPECT_EQ(functions(bare, 3), Names{});
  EXPECT_EQ(functions(bare, 4), Names{"jit one"});
}

TEST(StoredSymbols, AnotherBuildGetsNoNames) {
  Recording bare = bare_recording();
  bare.modules[0].build_id = "cc";
  EXPECT_TRUE(apply_symbols(encode_symbols(named_recording(), 0), 0, bare).has_value());
  EXPECT_EQ(functions(bare, 0), Names{});
  EXPECT_EQ(functions(bare, 1), Names{"shared_one"});
}

TEST(StoredSymbols, LoadAddressesDoNotMatter) {
  Recording bare = bare_recording();
  for (profile::Module& module : bare.modules) module.bias += 0x10'0000;
  EXPECT_TRUE(apply_symbols(encode_symbols(named_recording(), 0), 0, bare).has_value());
  EXPECT_EQ(functions(bare, 0), (Names{"inlined()", "main"}));
}

TEST(StoredSymbols, NamesThatAreThereStay) {
  Recording other = named_recording();
  other.frames[1].function = "renamed";
  EXPECT_TRUE(apply_symbols(encode_symbols(named_recording(), 0), 0, other).has_value());
  EXPECT_EQ(functions(other, 0), (Names{"inlined()", "renamed"}));
}

TEST(StoredSymbols, EqualFramesAreStoredOnce) {
  Recording bare = bare_recording();
  const std::string payload = encode_symbols(named_recording(), 0);
  EXPECT_TRUE(apply_symbols(payload, 0, bare).has_value());
  const std::size_t frames = bare.frames.size();
  for (Location& location : bare.locations) location.frames.clear();
  EXPECT_TRUE(apply_symbols(payload, 0, bare).has_value());
  EXPECT_EQ(bare.frames.size(), frames);
}

TEST(StoredSymbols, BadPayloadsChangeNothing) {
  const std::string payload = encode_symbols(named_recording(), 0);
  Recording bare = bare_recording();
  for (std::size_t bytes = 0; bytes < payload.size(); ++bytes) {
    EXPECT_FALSE(apply_symbols(payload.substr(0, bytes), 0, bare).has_value());
  }
  EXPECT_TRUE(bare.frames.empty());
  EXPECT_EQ(functions(bare, 0), Names{});
}

TEST(StoredSymbols, MutatedPayloadsLeaveAValidRecording) {
  const std::string payload = encode_symbols(named_recording(), 0);
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    std::string mutant = payload;
    for (unsigned change = 0; change <= round % 3U; ++change) {
      mutant[random() % mutant.size()] = static_cast<char>(random());
    }
    Recording bare = bare_recording();
    (void)apply_symbols(mutant, 0, bare);
    for (const Location& location : bare.locations) {
      for (const std::uint32_t frame : location.frames) ASSERT_LT(frame, bare.frames.size());
    }
  }
}

}  // namespace
}  // namespace geiger::symbolize
