// Members as compilers of this machine write them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/symbolize/elf/data_symbols.h"
#include "analysis/symbolize/elf/test_programs.h"

namespace geiger::symbolize {
namespace {

constexpr const char* kProgram = R"(
#include <map>
struct Base { void* first; };
struct Dict { void* table; };
struct Db : Base { Dict* dict; Dict* expires; };
struct Server {
  int port;
  Db db[2];
  std::map<int, int> users;
  struct { void* pending[100]; } queue;
  union { void* either; long or_else; };
};
Server server;
namespace app { static Db cache; Db* get() { return &cache; } }
thread_local struct { long n; void* scratch; } local;
void*& counted() { static struct { void* a; void* b; } inside; return inside.b; }
int main() { local.scratch = app::get(); counted() = &server; return 0; }
)";

class MembersOf : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] bool build(const std::string& flags) {
    const std::string compile = GetParam();
    if (!run(compile + " --version >/dev/null 2>&1")) return false;
    write_file(program_ + ".cc", kProgram);
    return run(compile + " -g -O0 " + flags + " -o " + program_ + " " + program_ + ".cc");
  }
  /// The name of `offset` in a variable.
  [[nodiscard]] static std::string at(const std::vector<DataSymbol>& symbols,
                                      const std::vector<DataSymbol>& members,
                                      const std::string& variable, Bytes offset) {
    for (const DataSymbol& symbol : symbols) {
      if (symbol.name != variable) continue;
      const DataSymbol* member = find_symbol(members, symbol.start + offset);
      return variable + (member == nullptr ? "" : member->name);
    }
    return "not found";
  }

  ScratchDirectory directory_;
  std::string program_ = directory_.path("program");
};

TEST_P(MembersOf, HaveNamesBelowTheirVariables) {
  for (const char* flags : {"", "-gdwarf-4", "-no-pie"}) {
    if (!build(flags)) GTEST_SKIP() << GetParam() << " is not on this machine";
    const DataSymbols symbols = data_symbols(program_);
    const DataSymbols members = data_members(program_);
    const auto global = [&](const std::string& variable, Bytes offset) {
      return at(symbols.globals, members.globals, variable, offset);
    };
    EXPECT_EQ(global("server", 8), "server.db[0].first");
    EXPECT_EQ(global("server", 16), "server.db[0].dict");
    EXPECT_EQ(global("server", 48), "server.db[1].expires");
    EXPECT_EQ(global("server", 56), "server.users");
    EXPECT_EQ(global("server", 96), "server.users");
    EXPECT_EQ(global("server", 104 + 799), "server.queue.pending[*]");
    EXPECT_EQ(global("server", 104 + 800), "server");
    EXPECT_EQ(global("app::cache", 16), "app::cache.expires");
    EXPECT_EQ(global("counted()::inside", 8), "counted()::inside.b");
    EXPECT_EQ(at(symbols.thread_locals, members.thread_locals, "local", 8), "local.scratch");
  }
}

INSTANTIATE_TEST_SUITE_P(Compilers, MembersOf, testing::Values("g++", "clang++"),
                         [](const auto& each) { return std::string(each.param, 1) + "xx"; });

TEST(Members, OfNothingAreNone) {
  const DataSymbols members = data_members("/nowhere");
  EXPECT_TRUE(members.globals.empty());
  EXPECT_TRUE(members.thread_locals.empty());
}

}  // namespace
}  // namespace geiger::symbolize
