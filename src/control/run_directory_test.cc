#include "control/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace geiger::control {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RunDirectory : public testing::Test {
 protected:
  RunDirectory() {
    std::string pattern = fs::temp_directory_path() / "geiger-test-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~RunDirectory() override { fs::remove_all(root_); }
  void put(const std::string& name) const { std::ofstream(root_ / name) << "x"; }

  fs::path root_;
};

TEST_F(RunDirectory, IsPrivate) {
  const std::string directory = root_ / "run";
  ASSERT_TRUE(create_run_directory(directory, false).has_value());
  struct stat status {};
  ASSERT_EQ(stat(directory.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700U);
}

TEST_F(RunDirectory, IsReplacedOnlyOnDemandAndOnlyIfItIsOurs) {
  const std::string directory = root_ / "run";
  fs::create_directory(directory);
  put("run/a.1.0.geiger");
  EXPECT_THAT(create_run_directory(directory, false).reason(), HasSubstr("-f replaces it"));
  EXPECT_THAT(traces_in(directory), ElementsAre("a.1.0.geiger"));
  ASSERT_TRUE(create_run_directory(directory, true).has_value());
  EXPECT_THAT(traces_in(directory), IsEmpty());
  put("run/thesis.tex");
  put("run/b.1.0.geiger");
  EXPECT_THAT(create_run_directory(directory, true).reason(), HasSubstr("other files"));
  EXPECT_THAT(traces_in(directory), ElementsAre("b.1.0.geiger"));
}

TEST_F(RunDirectory, DoesNotFollowALink) {
  fs::create_directory(root_ / "elsewhere");
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "run");
  EXPECT_FALSE(create_run_directory(root_ / "run", true).has_value());
}

TEST_F(RunDirectory, OnlyTracesAreReplaced) {
  EXPECT_TRUE(check_writable(root_ / "new", false).has_value());
  fs::create_directory(root_ / "folder");
  EXPECT_THAT(check_writable(root_ / "folder", true).reason(), HasSubstr("is a directory"));
  put("README.md");
  EXPECT_THAT(check_writable(root_ / "README.md", false).reason(), HasSubstr("-f replaces it"));
  EXPECT_THAT(check_writable(root_ / "README.md", true).reason(),
              HasSubstr("is not a geiger trace"));
  std::ofstream(root_ / "a.geiger", std::ios::binary) << std::string("GEIGER\r\n") << "more";
  EXPECT_THAT(check_writable(root_ / "a.geiger", false).reason(), HasSubstr("-f replaces it"));
  EXPECT_TRUE(check_writable(root_ / "a.geiger", true).has_value());
  std::ofstream(root_ / "empty") << "";
  EXPECT_TRUE(check_writable(root_ / "empty", true).has_value());
}

TEST_F(RunDirectory, SaysWhyNot) {
  EXPECT_THAT(create_run_directory(root_ / "no" / "run", false).reason(),
              HasSubstr("No such file"));
  EXPECT_FALSE(create_run_directory("", true).has_value());
}

TEST_F(RunDirectory, IsRemovedWithItsTraces) {
  fs::create_directory(root_ / "run");
  put("run/a.1.0.geiger");
  remove_run_directory(root_ / "run");
  EXPECT_FALSE(fs::exists(root_ / "run"));
}

TEST(NameForFiles, KeepsNamesHarmless) {
  EXPECT_EQ(name_for_files("/usr/bin/sqlite3"), "sqlite3");
  EXPECT_EQ(name_for_files("a b\n;$(x)"), "a_b____x_");
  EXPECT_EQ(name_for_files("dir/"), "program");
  EXPECT_EQ(name_for_files(std::string(500, 'x')).size(), 64U);
}

TEST(OutputPlan, NamesTheDirectoryOrTheParts) {
  const std::string here = fs::current_path();
  EXPECT_EQ(OutputPlan("/bin/ls", "").directory_for(12),
            (here == "/" ? here : here + "/") + "geiger-ls.12");
  EXPECT_EQ(OutputPlan("/bin/ls", "").shown_for(12), "geiger-ls.12");
  EXPECT_EQ(OutputPlan("ls", "/x/y").directory_for(12), "/x/y.parts");
  EXPECT_EQ(OutputPlan("ls", "y").shown_for(12), "y");
}

}  // namespace
}  // namespace geiger::control
