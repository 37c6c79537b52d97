#include "inject/remote_modules.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace geiger::inject {
namespace {

TEST(RemoteModules, MapsAreReadByFile) {
  const auto modules = modules_in(
      "1000-2000 r--p 00000000 08:01 7  /usr/bin/a b\n"
      "2000-3000 r-xp 00001000 08:01 7  /usr/bin/a b\n"
      "4000-5000 rw-p 00000000 00:00 0  [heap]\n"
      "6000-7000 r--p 00000000 08:01 9  /lib/libc.so.6\n"
      "7000-8000 r-xp 00001000 08:01 9  /lib/libc.so.6\n"
      "9000-a000 r--p 00000000 08:01 8  /data/no-code\n"
      "b000-c000 r-xp 00000000 00:01 5  /memfd:geiger (deleted)\n"
      "garbage\n");
  ASSERT_EQ(modules.size(), 3U);
  EXPECT_EQ(modules[0].path, "/usr/bin/a b");
  EXPECT_EQ(modules[0].base, 0x1000U);
  EXPECT_EQ(modules[0].end, 0x3000U);
  EXPECT_TRUE(modules[0].code.front().holds(0x2fff));
  EXPECT_FALSE(modules[0].code.front().holds(0x3000));
  EXPECT_EQ(modules[0].kind, ModuleKind::kOrdinary);
  EXPECT_EQ(modules[1].kind, ModuleKind::kLibc);
  EXPECT_EQ(modules[2].kind, ModuleKind::kRuntime);
}

TEST(RemoteModules, SymbolsOfThisProcess) {
  const auto modules = modules_of(getpid());
  const RemoteModule* libc = first_of(modules, ModuleKind::kLibc);
  ASSERT_NE(libc, nullptr);
  ASSERT_NE(first_of(modules, ModuleKind::kLoader), nullptr);
  const RemoteMemory memory(getpid());
  const auto found = find_symbol(memory, *libc, "getenv");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->address, reinterpret_cast<Address>(&getenv));
  EXPECT_FALSE(find_symbol(memory, *libc, "no_such_function_anywhere").has_value());
  const auto functions = functions_of(memory, *libc);
  EXPECT_GT(functions.size(), 1000U);
  EXPECT_TRUE(std::ranges::any_of(functions, [&](const RemoteSymbol& function) {
    return function.name == "getenv" && function.address == found->address;
  }));
}

TEST(RemoteModules, AProcessThatIsGoneHasNone) {
  EXPECT_TRUE(modules_of(0x7ffffff0).empty());
  EXPECT_FALSE(RemoteMemory(0x7ffffff0).get<int>(0x1000).has_value());
}

}  // namespace
}  // namespace geiger::inject
