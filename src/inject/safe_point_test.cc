#include "inject/safe_point.h"

#include <gtest/gtest.h>

namespace geiger::inject {
namespace {

constexpr FrameFacts kProgram{};
constexpr FrameFacts kWaits{ModuleKind::kLibc, true, true};
constexpr FrameFacts kOther{ModuleKind::kLibc, true, false};
constexpr FrameFacts kNameless{ModuleKind::kLibc, false, false};
constexpr FrameFacts kLoader{ModuleKind::kLoader, false, false};
constexpr FrameFacts kRuntime{ModuleKind::kRuntime, false, false};
constexpr FrameFacts kAllocator{ModuleKind::kAllocator, false, false};

TEST(SafePoint, OwnCodeOfTheProgramIsSafe) {
  EXPECT_EQ(judge({kProgram}), Safety::kSafe);
  EXPECT_EQ(judge({kProgram, kProgram, kNameless, kWaits}), Safety::kSafe);
}

TEST(SafePoint, AWaitingCallIsSafeWithWhatIsInsideIt) {
  EXPECT_EQ(judge({kWaits, kProgram, kNameless}), Safety::kSafe);
  EXPECT_EQ(judge({kNameless, kWaits, kProgram, kNameless, kNameless}), Safety::kSafe);
}

TEST(SafePoint, AnythingElseInsideLibcIsBusy) {
  EXPECT_EQ(judge({kNameless, kOther, kProgram}), Safety::kBusy);  // malloc, say
  EXPECT_EQ(judge({kOther, kWaits, kProgram}), Safety::kBusy);     // malloc inside fgets
  EXPECT_EQ(judge({kNameless, kProgram}), Safety::kBusy);
  EXPECT_EQ(judge({kNameless, kNameless}), Safety::kBusy);  // a thread that begins or ends
}

TEST(SafePoint, ACallBackOutOfLibcIsBusy) {
  EXPECT_EQ(judge({kProgram, kOther, kProgram, kNameless}), Safety::kBusy);  // dl_iterate_phdr
}

TEST(SafePoint, AHandlerThatInterruptedTheAllocatorIsBusy) {
  EXPECT_EQ(judge({kProgram, kNameless, kAllocator, kProgram}), Safety::kBusy);
  EXPECT_EQ(judge({kWaits, kProgram, kNameless, kOther, kProgram, kNameless}), Safety::kBusy);
}

// As all threads except the first do in a program started with the runtime.
TEST(SafePoint, AThreadMayStartInTheRuntime) {
  EXPECT_EQ(judge({kProgram, kRuntime, kNameless, kNameless}), Safety::kSafe);
  EXPECT_EQ(judge({kNameless, kWaits, kProgram, kRuntime, kNameless}), Safety::kSafe);
  EXPECT_EQ(judge({kWaits, kRuntime, kNameless}), Safety::kSafe);
}

TEST(SafePoint, ElsewhereTheRuntimeIsBusy) {
  EXPECT_EQ(judge({kRuntime, kNameless}), Safety::kBusy);  // Before or after the program's part.
  EXPECT_EQ(judge({kRuntime, kProgram, kRuntime, kNameless}), Safety::kBusy);
  EXPECT_EQ(judge({kProgram, kRuntime, kProgram, kNameless}), Safety::kBusy);
  EXPECT_EQ(judge({kProgram, kRuntime}), Safety::kBusy);
  EXPECT_EQ(judge({kProgram, kNameless, kRuntime, kNameless}), Safety::kBusy);
  EXPECT_EQ(judge({kOther, kProgram, kRuntime, kNameless}), Safety::kBusy);
}

TEST(SafePoint, TheLoaderIsBusy) { EXPECT_EQ(judge({kProgram, kLoader, kProgram}), Safety::kBusy); }

TEST(SafePoint, ExitHandlersAreBusy) {
  EXPECT_EQ(judge({kProgram, kNameless, kOther, kNameless}), Safety::kBusy);
}

TEST(SafePoint, NothingIsUnknown) { EXPECT_EQ(judge({}), Safety::kUnknown); }

TEST(SafePoint, NamesOfFunctionsThatWait) {
  for (const char* name : {"read", "poll", "epoll_wait", "nanosleep", "pthread_cond_wait", "fgets",
                           "_IO_file_underflow", "waitpid"}) {
    EXPECT_TRUE(only_waits(name)) << name;
  }
  for (const char* name : {"malloc", "free", "dlopen", "fork", "exit", "dl_iterate_phdr",
                           "pthread_create", "getaddrinfo", ""}) {
    EXPECT_FALSE(only_waits(name)) << name;
  }
}

}  // namespace
}  // namespace geiger::inject
