// Lambdas and what is made of them, by g++ and clang++.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "analysis/symbolize/elf/test_programs.h"
#include "analysis/symbolize/symbolize.h"

namespace geiger::symbolize {
namespace {

using profile::Frame;
using profile::Recording;

constexpr const char* kLambdas = R"(
#include <functional>
#include <thread>
volatile int sink;
namespace app {
template <typename F> __attribute__((INLINING)) inline void apply(F f) { sink = f(sink); }
void twice(int) {
  apply([](int i) { return sink += i + 1; });
  { auto second = [](int i) { return sink += i + 2; }; apply(second); }
}
}
int main() {
  std::function<int(int)> held = [](int i) { return sink += i + 3; };
  std::thread other([] { sink += 4; });
  other.join();
  app::twice(held(1));
}
)";

/// Functions whose names have `part`, over all code of the lambdas' program.
std::set<std::string> functions_with(const std::string& part, const std::string& compile) {
  const ScratchDirectory directory;
  const std::string program = directory.path("program");
  write_file(program + ".cc", kLambdas);
  if (!run(compile + " -std=c++17 -pthread -o " + program + " " + program + ".cc")) return {};
  Recording recording = recording_of(program, code_addresses(program, 20'000));
  symbolize(recording, {});
  std::set<std::string> names;
  for (const Frame& frame : recording.frames) {
    if (frame.function.find(part) != std::string::npos) names.insert(frame.function);
  }
  return names;
}

/// g++ gives the linker's name neither to lambdas of main() nor to what is inlined of them.
TEST(Symbolize, LambdasOfOneFunctionAreTwo) {
  for (const char* flags : {"-O0", "-O1", "-O2"}) {
    const std::string compile = std::string("g++ -g -DINLINING=noinline ") + flags;
    EXPECT_THAT(
        functions_with("operator()", compile),
        testing::IsSupersetOf({"main::{lambda#1}::operator()", "main::{lambda#2}::operator()",
                               "app::twice(int)::{lambda#1}::operator()",
                               "app::twice(int)::{lambda#2}::operator()"}))
        << flags;
  }
  if (!run("clang++ --version >/dev/null 2>&1")) GTEST_SKIP() << "no clang++ on this machine";
  for (const char* flags : {"-O0", "-O2"}) {
    const std::string compile = std::string("clang++ -g -DINLINING=noinline ") + flags;
    EXPECT_THAT(
        functions_with("operator()", compile),
        testing::IsSupersetOf({"main::$_2::operator()(int) const", "main::$_3::operator()() const",
                               "app::twice(int)::$_0::operator()(int) const",
                               "app::twice(int)::$_1::operator()(int) const"}))
        << flags;
  }
}

TEST(Symbolize, TemplatesOfLambdasAreToldApart) {
  const std::set<std::string> names =
      functions_with("apply<", "g++ -g -O2 -DINLINING=always_inline");
  EXPECT_THAT(names, testing::IsSupersetOf({"app::apply<app::twice(int)::<lambda(int)#1> >",
                                            "app::apply<app::twice(int)::<lambda(int)#2> >"}));
}

}  // namespace
}  // namespace geiger::symbolize
