// Names come beside what is drawn, those of small modules first.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "analysis/follow/follower.h"
#include "analysis/ingest/test_files.h"
#include "base/test_refusal.h"

namespace geiger::follow {
namespace {

using profile::Recording;

constexpr std::chrono::minutes kEnough{5};

constexpr const char* kItsSymbol = "_ZN6geiger6follow21looked_up_by_its_nameEv";
constexpr const char* kItsName = "geiger::follow::looked_up_by_its_name()";

struct Named : ::testing::Test {
  ingest::TestFiles files;
  Recording recording;
  std::uint32_t small_module = add_module(GEIGER_TEST_MODULE);
  std::uint32_t large_module = add_module(large_copy());

  std::uint32_t add_module(const std::string& path) {
    recording.modules.push_back({path, "", 0, 0, 0});
    return static_cast<std::uint32_t>(recording.modules.size() - 1);
  }

  /// A copy of the small module, padded with bytes that nothing reads.
  std::string large_copy() const {
    const std::string path = files.path("large");
    std::filesystem::copy_file(GEIGER_TEST_MODULE, path);
    std::ofstream(path, std::ios::app | std::ios::binary) << std::string(33 * kMiB, 'x');
    return path;
  }

  /// A return address in the function.
  std::uint32_t add_location(std::uint32_t module) {
    Dl_info info{};
    void* const loaded = dlopen(GEIGER_TEST_MODULE, RTLD_NOW);
    void* const function = loaded != nullptr ? dlsym(loaded, kItsSymbol) : nullptr;
    EXPECT_NE(dladdr(function, &info), 0);
    const auto offset =
        reinterpret_cast<Address>(function) - reinterpret_cast<Address>(info.dli_fbase);
    if (loaded != nullptr) dlclose(loaded);
    recording.locations.push_back({module, offset + 1, 0, {}});
    return static_cast<std::uint32_t>(recording.locations.size() - 1);
  }

  [[nodiscard]] std::string name_of(std::uint32_t location) const {
    const auto& frames = recording.locations[location].frames;
    return frames.empty() ? "" : recording.frames[frames.back()].function;
  }

  void await(Naming& naming, NamesOf which) {
    naming.update(recording);
    while (naming.missing(which) > 0) {
      naming.wait(which, kEnough);
      ASSERT_TRUE(naming.is_ready());
      naming.update(recording);
    }
  }
};

TEST_F(Named, SmallModulesDoNotWaitForLargeOnes) {
  if (base::kIsSanitized) GTEST_SKIP() << "an instrumented program is a large module";
  const std::uint32_t large = add_location(large_module);
  const std::uint32_t small = add_location(small_module);
  Naming naming;
  naming.update(recording);
  EXPECT_EQ(naming.missing(NamesOf::kSmallModules), 1U);
  EXPECT_EQ(naming.missing(NamesOf::kAllModules), 2U);
  await(naming, NamesOf::kSmallModules);
  EXPECT_EQ(name_of(small), kItsName);
  EXPECT_EQ(naming.missing(NamesOf::kSmallModules), 0U);
  await(naming, NamesOf::kAllModules);
  EXPECT_EQ(name_of(large), kItsName);
  EXPECT_EQ(naming.missing(NamesOf::kAllModules), 0U);
}

TEST_F(Named, WhatComesMeanwhileIsTheNextBatch) {
  Naming naming;
  const std::uint32_t first = add_location(small_module);
  naming.update(recording);
  const std::uint32_t second = add_location(small_module);
  const std::uint32_t other = add_location(large_module);
  EXPECT_EQ(naming.missing(NamesOf::kAllModules), 1U);
  await(naming, NamesOf::kAllModules);
  for (const std::uint32_t location : {first, second, other}) {
    EXPECT_EQ(name_of(location), kItsName);
  }
}

TEST_F(Named, OfNothingNothingIsMissing) {
  Naming naming;
  naming.update(recording);
  naming.wait(NamesOf::kAllModules, kEnough);
  EXPECT_FALSE(naming.is_ready());
  EXPECT_EQ(naming.missing(NamesOf::kAllModules), 0U);
}

TEST_F(Named, WhoeverLeavesWaitsForNoName) {
  for (int i = 0; i < 20; ++i) {
    add_location(small_module);
    add_location(large_module);
    Naming naming;
    naming.update(recording);
  }
}

}  // namespace
}  // namespace geiger::follow
