// Modules without symbols are named once, with what to do about it.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "analysis/present/function_names.h"

namespace geiger::present {
namespace {

TEST(UnnamedModules, SayNothingWhereAllFunctionsHaveNames) {
  UnnamedModules modules;
  for (const char* name :
       {"main", "operator+", "f(0x12)", "0x7f0012345678", "", "a+b", "libgeiger-preload.so+0x12"}) {
    modules.see(name);
  }
  EXPECT_EQ(modules.sentence(), "");
}

TEST(UnnamedModules, AreNamedOnce) {
  UnnamedModules modules;
  modules.see("git+0x28961c");
  modules.see("git+0x123");
  EXPECT_EQ(modules.sentence(),
            "git has no symbols: install its -dbgsym package, or set DEBUGINFOD_URLS and run "
            "geiger symbolize --debuginfod.");
  modules.see("libz.so.1+0x5");
  EXPECT_EQ(modules.sentence("a.geiger"),
            "git, libz.so.1 have no symbols: install their -dbgsym packages, or set "
            "DEBUGINFOD_URLS and run geiger symbolize --debuginfod a.geiger.");
}

TEST(UnnamedModules, AreSaidToBeAbsentWhereTheirFilesAre) {
  profile::Recording recording;
  recording.modules.resize(2);
  recording.modules[0].path = "/opt/app/server";
  recording.modules[0].is_absent = true;
  recording.modules[1].path = "/usr/bin/git";
  UnnamedModules modules(absent_modules(recording));
  modules.see("server+0x1");
  EXPECT_EQ(
      modules.sentence(),
      "server was not found here: run geiger symbolize where its file is, or with --debug-dir or "
      "--debuginfod.");
  modules.see("git+0x1");
  EXPECT_EQ(
      modules.clause(),
      "server was not found here: run geiger symbolize where its file is, or with --debug-dir or "
      "--debuginfod; "
      "git has no symbols: install its -dbgsym package");
}

TEST(UnnamedModules, AreCountedBeyondThree) {
  UnnamedModules modules;
  for (const char* name : {"a.so+0x1", "b.so+0x1", "c.so+0x1", "d.so+0x1", "e\n.so+0x1"}) {
    modules.see(name);
  }
  EXPECT_TRUE(modules.sentence().starts_with("a.so, b.so, c.so and 2 more have no symbols:"));
}

TEST(UnnamedModules, AreNotedOfLines) {
  struct Line {
    std::string name;
  };
  const std::vector<Line> lines{{"main"}, {"git+0x28961c"}, {"git+0x1"}};
  EXPECT_EQ(unnamed_note(lines, &Line::name, 60),
            "git has no symbols: install its -dbgsym package, or set\n"
            "DEBUGINFOD_URLS and run geiger symbolize --debuginfod.\n");
  EXPECT_EQ(unnamed_note(std::span(lines).first(1), &Line::name, 60), "");
}

}  // namespace
}  // namespace geiger::present
