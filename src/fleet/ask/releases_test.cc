#include "fleet/ask/releases.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/profile/frames/labels.h"
#include "analysis/profile/testing/test_recording.h"

namespace geiger::fleet {
namespace {

/// A recording with a stack in each of these modules, of the versions beside them.
class ReleasesTest : public testing::Test {
 protected:
  std::uint32_t add(const std::string& path, std::vector<std::uint32_t> versions) {
    profile::Module module;
    module.path = path;
    module.build_id = path;
    test_.recording.modules.push_back(module);
    const auto number = static_cast<std::uint32_t>(test_.recording.modules.size() - 1);
    const auto stack = test_.stack({test_.location({"work"}, number)});
    for (const std::uint32_t version : versions) versions_.emplace_back(stack, version);
    return number;
  }
  void join(const std::set<std::string>& programs = {}) {
    join_releases(test_.recording, versions_, programs);
  }
  [[nodiscard]] bool are_one(std::uint32_t a, std::uint32_t b) const {
    const profile::ModuleFiles files(test_.recording);
    return files.first_of(a) == files.first_of(b);
  }

  profile::TestRecording test_;
  StackVersions versions_;
};

TEST_F(ReleasesTest, FilesOfVersionsInFoldersOfTheirOwnAreOne) {
  const auto one = add("/srv/1.0/shop", {0}), two = add("/srv/1.1/shop", {1});
  EXPECT_TRUE(has_namesakes(test_.recording, {}));
  EXPECT_FALSE(are_one(one, two));
  join();
  EXPECT_TRUE(are_one(one, two));
  const profile::ModuleFiles files(test_.recording);
  EXPECT_EQ(files.name(one), "shop");
  EXPECT_EQ(files.mark(one), "");
}

TEST_F(ReleasesTest, FilesThatAVersionHasTogetherAreNot) {
  const auto fast = add("/srv/1.0/fast/_native.so", {0});
  const auto slow = add("/srv/1.0/slow/_native.so", {0});
  const auto slow_later = add("/srv/1.1/slow/_native.so", {1});
  join();
  EXPECT_FALSE(are_one(fast, slow));
  EXPECT_TRUE(are_one(slow, slow_later)) << "their paths end most alike";
}

TEST_F(ReleasesTest, BuildsAtOnePathInVersionsOfTheirOwnAreOne) {
  const auto one = add("/srv/shop", {0}), two = add("/srv/shop", {1});
  test_.recording.modules[two].build_id = "other";
  EXPECT_FALSE(are_one(one, two));
  join();
  EXPECT_TRUE(are_one(one, two));
}

TEST_F(ReleasesTest, ProgramsAreOneWhateverTheirNames) {
  const auto one = add("/srv/shop-1.0", {0}), two = add("/srv/shop-1.1", {1});
  join();
  EXPECT_FALSE(are_one(one, two));
  join({"/srv/shop-1.0", "/srv/shop-1.1"});
  EXPECT_TRUE(are_one(one, two));
}

TEST_F(ReleasesTest, ScriptsAreOneToo) {
  for (std::uint32_t version = 0; version < 2; ++version) {
    const auto location = test_.location({"work"}, profile::kNone);
    test_.recording.frames.back().file = "/srv/" + std::to_string(version) + "/app.js";
    versions_.emplace_back(test_.stack({location}), version);
  }
  join();
  const auto& frames = test_.recording.frames;
  EXPECT_EQ(frames[0].file, frames[1].file);
}

}  // namespace
}  // namespace geiger::fleet
