#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "analysis/symbolize/symbolize.h"

namespace geiger::symbolize {
namespace {

using profile::Recording;

struct Place {
  std::string module;
  std::vector<std::string> functions;  ///< Inlined callee first.
};

Recording recording_of(std::initializer_list<Place> places) {
  Recording recording;
  recording.processes.emplace_back();
  recording.processes[0].executable = "/usr/bin/app";
  recording.processes[0].allocator = "/usr/lib/libjemalloc.so.2";
  recording.stacks.emplace_back();
  for (const Place& place : places) {
    profile::Location location;
    location.module = static_cast<std::uint32_t>(recording.modules.size());
    recording.modules.push_back({place.module, "", 0, 0, 0});
    for (const std::string& function : place.functions) {
      location.frames.push_back(static_cast<std::uint32_t>(recording.frames.size()));
      recording.frames.push_back({function, "", "", 0});
    }
    recording.stacks[0].locations.push_back(static_cast<std::uint32_t>(recording.locations.size()));
    recording.locations.push_back(location);
  }
  return recording;
}

std::size_t leading(std::initializer_list<Place> places) {
  const Recording recording = recording_of(places);
  return leading_runtime_frames(recording, recording.stacks[0]);
}

TEST(Trim, OperatorNewIsCut) {
  EXPECT_EQ(leading({{"/usr/lib/libstdc++.so.6", {"operator new(unsigned long)"}},
                     {"/usr/bin/app", {"make()"}},
                     {"/usr/bin/app", {"main"}}}),
            1U);
}

TEST(Trim, RuntimeAndAllocatorModulesAreCut) {
  EXPECT_EQ(leading({{"/opt/geiger/lib/libgeiger-preload.so", {"anything"}},
                     {"/usr/lib/libjemalloc.so.2", {"libjemalloc.so.2+0x12"}},
                     {"/usr/bin/app", {"main"}}}),
            2U);
}

TEST(Trim, WrappersStay) {
  EXPECT_EQ(leading({{"/usr/bin/app",
                      {"std::__new_allocator<int>::allocate(unsigned long, void const*)",
                       "std::vector<int>::push_back(int const&)"}},
                     {"/usr/bin/app", {"main"}}}),
            0U);
  EXPECT_EQ(leading({{"/usr/bin/app", {"xmalloc"}}, {"/usr/bin/app", {"main"}}}), 0U);
}

TEST(Trim, InlinedFramesCountOneByOne) {
  EXPECT_EQ(leading({{"/usr/bin/app", {"malloc", "operator new[](unsigned long)", "make()"}},
                     {"/usr/bin/app", {"main"}}}),
            2U);
}

TEST(Trim, OnlyTheTopIsCut) {
  EXPECT_EQ(leading({{"/usr/bin/app", {"make()"}},
                     {"/usr/lib/libstdc++.so.6", {"operator new(unsigned long)"}},
                     {"/usr/bin/app", {"main"}}}),
            0U);
}

TEST(Trim, TheOutermostFrameStays) {
  EXPECT_EQ(leading({{"/usr/bin/app", {"malloc"}}}), 0U);
  EXPECT_EQ(leading({{"/usr/bin/app", {"malloc"}}, {"/usr/bin/app", {"calloc"}}}), 1U);
  EXPECT_EQ(leading({}), 0U);
}

TEST(Trim, CodeWithoutModuleIsJudgedByName) {
  Recording recording = recording_of({{"", {"malloc"}}, {"", {"main"}}});
  recording.locations[0].module = profile::kNone;
  EXPECT_EQ(leading_runtime_frames(recording, recording.stacks[0]), 1U);
}

TEST(Trim, AllocatorModule) {
  profile::Process process;
  process.executable = "/usr/bin/redis-server";
  process.allocator = "/usr/lib/libjemalloc.so.2";
  EXPECT_TRUE(is_allocator_module("/usr/lib/libjemalloc.so.2", process));
  EXPECT_FALSE(is_allocator_module("/usr/bin/redis-server", process));
  process.allocator = process.executable;
  EXPECT_FALSE(is_allocator_module("/usr/bin/redis-server", process));
  process.allocator = "/usr/lib/x86_64-linux-gnu/libc.so.6";
  EXPECT_FALSE(is_allocator_module("/usr/lib/x86_64-linux-gnu/libc.so.6", process));
}

}  // namespace
}  // namespace geiger::symbolize
