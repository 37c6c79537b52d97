#include "analysis/profile/frames/labels.h"

#include <gmock/gmock.h>

#include <set>

#include "analysis/profile/testing/test_recording.h"

namespace geiger::profile {
namespace {

using ::testing::ElementsAre;

/// Adds a build of a file, which a process has a function of; its module.
std::uint32_t add_build(TestRecording& test, const std::string& path, const std::string& build_id,
                        const std::string& function, std::uint32_t process = 0) {
  const auto module = static_cast<std::uint32_t>(test.recording.modules.size());
  test.recording.modules.push_back({path, build_id, 0x1000, 0x9000, 0});
  const std::uint32_t location = test.location({function}, module);
  test.recording.locations[location].process = process;
  test.recording.locations[location].vaddr = 0x1122;
  test.sample(test.stack({location}), 100);
  return module;
}

std::size_t labels_of_builds(const Recording& recording) {
  const Labels labels(recording);
  std::set<std::uint32_t> met;
  for (std::uint32_t i = 0; i < recording.locations.size(); ++i) met.insert(labels.of(i)[0]);
  return met.size();
}

TEST(ModuleFiles, FilesThatTookTurnsAtAPathDifferByBuildId) {
  TestRecording test;
  const auto one = add_build(test, "/tmp/copy.so", "0123456789", "entry");
  const auto two = add_build(test, "/tmp/copy.so", "fedcba9876", "entry");
  const ModuleFiles files(test.recording);
  EXPECT_NE(files.first_of(one), files.first_of(two));
  EXPECT_EQ(files.name(one), "copy.so@01234567");
  EXPECT_EQ(files.name(two), "copy.so@fedcba98");
  EXPECT_EQ(files.mark(two), " [copy.so@fedcba98]");
  EXPECT_EQ(labels_of_builds(test.recording), 2U);
}

TEST(ModuleFiles, AnUpgradeBetweenProcessesIsOneFile) {
  TestRecording test;
  const auto other = test.add_process();
  const auto one = add_build(test, "/usr/lib/libz.so.1", "0123456789", "inflate");
  const auto two = add_build(test, "/usr/lib/libz.so.1", "fedcba9876", "inflate", other);
  const ModuleFiles files(test.recording);
  EXPECT_EQ(files.first_of(one), files.first_of(two));
  EXPECT_EQ(files.name(two), "libz.so.1");
  EXPECT_EQ(files.mark(two), "");
  EXPECT_EQ(labels_of_builds(test.recording), 1U);
}

TEST(ModuleFiles, AddressesOfTwoBuildsAreNeverOne) {
  TestRecording test;
  const auto other = test.add_process();
  add_build(test, "/usr/lib/libz.so.1", "0123456789", "libz.so.1+0x1122");
  add_build(test, "/usr/lib/libz.so.1", "fedcba9876", "libz.so.1+0x1122", other);
  EXPECT_EQ(labels_of_builds(test.recording), 2U);
}

TEST(ModuleFiles, FilesOfOneNameDifferByAsManyFoldersAsItTakes) {
  TestRecording test;
  std::vector<std::string> names;
  for (const char* path : {"/py/fast/x/_native.so", "/py/slow/x/_native.so", "/py/_native.so"}) {
    add_build(test, path, path, "decode");
  }
  const ModuleFiles files(test.recording);
  for (std::uint32_t i = 1; i <= 3; ++i) names.push_back(files.name(i));
  EXPECT_THAT(names, ElementsAre("fast/x/_native.so", "slow/x/_native.so", "/py/_native.so"));
  EXPECT_EQ(files.name(0), "target");
}

}  // namespace
}  // namespace geiger::profile
