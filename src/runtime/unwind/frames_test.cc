// Walks over frames that no compiler makes: functions with tables written by hand, on stacks of
// words that a test wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <vector>

#include "runtime/unwind/modules.h"
#include "runtime/unwind/test_registers.h"
#include "runtime/unwind/unwind.h"

// Each is long enough for a return address with a call before it.
#define GEIGER_FRAME(name, rules)                              \
  asm(".pushsection .text\n.type " #name ", @function\n" #name \
      ":\n"                                                    \
      ".cfi_startproc\n" GEIGER_AFTER_CALL rules               \
      ".fill 16, 1, 0x90\n.cfi_endproc\n"                      \
      ".size " #name ", .-" #name "\n.popsection\n");          \
  extern "C" [[gnu::visibility("hidden")]] const char name[16]  // NOLINT: of the assembler.

#define GEIGER_IN_FRAME ".cfi_def_cfa " GEIGER_SP ", 16\n"

// Return address below the CFA, as after a call, unless a frame says otherwise.
GEIGER_FRAME(by_sp, ".cfi_def_cfa " GEIGER_SP ", 16\n");
GEIGER_FRAME(by_saved, ".cfi_def_cfa " GEIGER_SAVED ", 16\n");
GEIGER_FRAME(by_lost, ".cfi_def_cfa " GEIGER_LOST ", 16\n");
GEIGER_FRAME(by_return_address, ".cfi_def_cfa " GEIGER_IP ", 16\n");
GEIGER_FRAME(saves_register, GEIGER_IN_FRAME
             ".cfi_register " GEIGER_OTHER_SAVED ", " GEIGER_FP "\n.cfi_offset " GEIGER_SAVED
             ", -16\n.cfi_escape 0x16, " GEIGER_IP ", 3, " GEIGER_AT_SP ", 8, 0x06\n");
// The CFA is [sp] + 8; [sp + 4]; [sp + 1 MiB] + 8.
GEIGER_FRAME(loads_cfa, ".cfi_escape 0x0f, 5, " GEIGER_AT_SP ", 0, 0x06, 0x23, 8\n");
GEIGER_FRAME(loads_askew, ".cfi_escape 0x0f, 5, " GEIGER_AT_SP ", 4, 0x06, 0x23, 8\n");
GEIGER_FRAME(loads_nothing,
             ".cfi_escape 0x0f, 7, " GEIGER_AT_SP ", 0x80, 0x80, 0xc0, 0x00, 0x06, 0x96\n");
GEIGER_FRAME(loads_sp, ".cfi_escape 0x0f, 3, " GEIGER_AT_SP ", 0, 0x06\n");
// The return address is sp + 8 itself; that of this frame; in a lost register; nowhere; [[sp]].
GEIGER_FRAME(returns_value,
             GEIGER_IN_FRAME ".cfi_escape 0x16, " GEIGER_IP ", 2, " GEIGER_AT_SP ", 8\n");
GEIGER_FRAME(returns_same, GEIGER_IN_FRAME ".cfi_same_value " GEIGER_IP "\n");
GEIGER_FRAME(returns_lost, GEIGER_IN_FRAME ".cfi_register " GEIGER_IP ", " GEIGER_LOST "\n");
GEIGER_FRAME(returns_never, GEIGER_IN_FRAME ".cfi_undefined " GEIGER_IP "\n");
GEIGER_FRAME(returns_twice_loaded,
             GEIGER_IN_FRAME ".cfi_escape 0x10, " GEIGER_IP ", 3, " GEIGER_AT_SP ", 0, 0x06\n");
GEIGER_FRAME(returns_askew,
             GEIGER_IN_FRAME ".cfi_escape 0x10, " GEIGER_IP ", 2, " GEIGER_AT_SP ", 4\n");
GEIGER_FRAME(returns_afar, GEIGER_IN_FRAME ".cfi_offset " GEIGER_IP ", 0x100000\n");
// A register, or the frame pointer, is far away: CFA + 1 MiB. It is at itself, at sp; lost.
GEIGER_FRAME(saves_afar,
             GEIGER_IN_FRAME ".cfi_offset " GEIGER_OTHER_SAVED
                             ", 0x100000\n.cfi_register " GEIGER_IP ", " GEIGER_FP "\n");
GEIGER_FRAME(saves_fp_afar, GEIGER_IN_FRAME ".cfi_offset " GEIGER_FP ", 0x20000\n");
GEIGER_FRAME(saves_fp_at_fp,
             GEIGER_IN_FRAME ".cfi_escape 0x10, " GEIGER_FP ", 2, " GEIGER_AT_FP ", 0\n");
GEIGER_FRAME(saves_fp_at_sp, ".cfi_def_cfa " GEIGER_SP ", 24\n.cfi_escape 0x10, " GEIGER_FP
                             ", 2, " GEIGER_AT_SP ", 0\n");
GEIGER_FRAME(saves_fp_nowhere, GEIGER_IN_FRAME ".cfi_escape 0x16, " GEIGER_FP ", 1, 0x31\n");
// Interrupted: the CFA may be anywhere, and the return address is that of the interrupted function.
GEIGER_FRAME(interrupts, ".cfi_signal_frame\n" GEIGER_IN_FRAME);
GEIGER_FRAME(interrupts_all, ".cfi_signal_frame\n" GEIGER_IN_FRAME ".cfi_escape 0x16, " GEIGER_IP
                             ", 2, " GEIGER_AT_FP ", 0\n");

namespace geiger::unwind {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Lt;

std::uint64_t in(const char* function) { return reinterpret_cast<std::uint64_t>(function) + 8; }

/// A stack of words; walks over it begin at its first.
class Frames : public testing::Test {
 protected:
  void SetUp() override { init(); }

  std::vector<std::uint64_t> walk_from(const char* function, std::uint64_t bp = 0,
                                       std::size_t capacity = 16) {
    std::vector<std::uint64_t> frames(capacity);
    trace_ = {frames.data(), capacity};
    const std::uint64_t low = at(0);
    walk({in(function), low, bp}, {low, low + sizeof words_}, Mode::kAuto, trace_);
    frames.resize(trace_.count);
    return frames;
  }
  [[nodiscard]] std::uint64_t at(std::size_t word) const {
    return reinterpret_cast<std::uint64_t>(words_ + word);
  }
  void expect_lost(const char* function, std::uint64_t bp = 0) {
    EXPECT_THAT(walk_from(function, bp), ElementsAre(in(function)));
    EXPECT_TRUE(trace_.truncated);
  }

  std::uint64_t words_[32] = {};
  Trace trace_{};
};

TEST_F(Frames, EndAtAnAddressOfNothing) {
  words_[1] = in(by_sp);
  EXPECT_THAT(walk_from(by_sp), ElementsAre(in(by_sp), in(by_sp)));
  EXPECT_FALSE(trace_.truncated);
}

TEST_F(Frames, OnRegistersThatNobodyKnowsAreLost) {
  expect_lost(by_saved);
  expect_lost(by_lost);
  expect_lost(by_return_address);
}

// It is known from the frame below, which saved it.
TEST_F(Frames, OnRegistersThatWereSavedAreNot) {
  words_[0] = at(2);
  words_[1] = in(by_saved);
  words_[3] = in(returns_never);
  EXPECT_THAT(walk_from(saves_register),
              ElementsAre(in(saves_register), in(by_saved), in(returns_never)));
  EXPECT_FALSE(trace_.truncated);
}

TEST_F(Frames, MayKeepTheirCfaInMemory) {
  words_[0] = at(2);
  words_[2] = in(returns_never);
  EXPECT_THAT(walk_from(loads_cfa), ElementsAre(in(loads_cfa), in(returns_never)));
  words_[0] = at(3) + 1;  // No frame ends there.
  expect_lost(loads_cfa);
  expect_lost(loads_askew);
  expect_lost(loads_nothing);
  words_[0] = at(2);
  words_[1] = in(returns_never);
  EXPECT_THAT(walk_from(loads_sp), ElementsAre(in(loads_sp), in(returns_never)));
}

TEST_F(Frames, MayReturnToAValue) {
  expect_lost(returns_same);
  expect_lost(returns_lost);
  expect_lost(returns_twice_loaded);
  expect_lost(returns_askew);
  expect_lost(returns_afar);
  const auto frames = walk_from(returns_value);
  ASSERT_GE(frames.size(), 2U);
  EXPECT_EQ(frames[1], at(1));
}

TEST_F(Frames, WhoseRegistersCannotBeReadAreLost) {
  words_[1] = in(by_sp);
  expect_lost(saves_afar, in(by_sp));
  expect_lost(saves_fp_afar);
}

TEST_F(Frames, MaySaveTheFramePointerAnywhere) {
  words_[1] = in(returns_never);
  words_[2] = in(returns_never);
  EXPECT_THAT(walk_from(saves_fp_at_fp, at(4)), ElementsAre(in(saves_fp_at_fp), in(returns_never)));
  EXPECT_THAT(walk_from(saves_fp_at_sp), ElementsAre(in(saves_fp_at_sp), in(returns_never)));
  EXPECT_THAT(walk_from(saves_fp_nowhere), ElementsAre(in(saves_fp_nowhere), in(returns_never)));
  expect_lost(saves_fp_at_fp, at(4) + 4);
  expect_lost(saves_fp_at_fp, 4096);
}

// The address of an interrupted instruction is looked up unchanged, but recorded + 1.
TEST_F(Frames, ThatWereInterruptedAreToldOneFurther) {
  words_[1] = in(returns_never);
  EXPECT_THAT(walk_from(interrupts), ElementsAre(in(interrupts), in(returns_never) + 1));
  EXPECT_THAT(walk_from(interrupts_all, in(returns_never)),
              ElementsAre(in(interrupts_all), in(returns_never) + 1));
  EXPECT_FALSE(trace_.truncated);
}

/// Where no module is.
std::uint64_t nowhere() {
  static void* const page =
      mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return reinterpret_cast<std::uint64_t>(page) + 64;
}

TEST_F(Frames, WithoutTablesGoByTheFramePointer) {
  words_[0] = at(4);  // The register.
  words_[1] = nowhere();
  words_[6] = 0;  // The chain of frame pointers ends,
  words_[7] = in(returns_never);
  EXPECT_THAT(walk_from(saves_register, at(6)),
              ElementsAre(in(saves_register), nowhere(), in(returns_never)));
  EXPECT_FALSE(trace_.truncated);
  words_[6] = at(2);  // or turns back,
  EXPECT_THAT(walk_from(saves_register, at(6)), ElementsAre(in(saves_register), nowhere()));
  EXPECT_TRUE(trace_.truncated);
  words_[6] = at(8);
  words_[7] = 12;  // or leads outside of all code: below it, above it.
  EXPECT_THAT(walk_from(saves_register, at(6)), ElementsAre(in(saves_register), nowhere()));
  words_[7] = std::uint64_t{1} << 60;
  EXPECT_THAT(walk_from(saves_register, at(6)), ElementsAre(in(saves_register), nowhere()));
  EXPECT_THAT(walk_from(saves_register, at(32)), ElementsAre(in(saves_register), nowhere()));
  EXPECT_THAT(walk_from(saves_register, at(31)), ElementsAre(in(saves_register), nowhere()));
}

TEST_F(Frames, StopWhereThereIsNoRoom) {
  words_[0] = at(2);
  words_[1] = in(by_saved);
  words_[3] = in(returns_never);
  EXPECT_THAT(walk_from(saves_register, 0, 2), ElementsAre(in(saves_register), in(by_saved)));
  EXPECT_TRUE(trace_.truncated);
}

// ------------------------------------------------- starts that are not reached ---

/// Walks from words in the frame of a caller `depth` calls up, not at a call.
[[gnu::noinline]] std::size_t walk_below(int depth, std::uint64_t sp, std::uint64_t high,
                                         Trace& trace) {
  if (depth > 0) return walk_below(depth - 1, sp, high, trace) + 1;
  walk({in(saves_register), sp, 0}, {sp, high}, Mode::kAuto, trace);
  return 0;
}

void expect_restart(int depth) {
  volatile std::uint64_t words[16] = {};
  const auto low = reinterpret_cast<std::uint64_t>(&words[0]);
  words[0] = low + 16;
  words[1] = in(by_saved);
  words[3] = in(returns_never);
  std::uint64_t frames[8];
  Trace trace{frames, 8};
  EXPECT_EQ(walk_below(depth, low, low + 128, trace), static_cast<std::size_t>(depth));
  EXPECT_THAT(std::vector(frames, frames + trace.count),
              ElementsAre(in(saves_register), in(by_saved), in(returns_never)));
}

TEST_F(Frames, AreWalkedFromTheRegistersThatAreGivenWhenTheStartIsNotMet) {
  expect_restart(1);
  expect_restart(100);  // Too far to climb.
}

// A stack that was copied away has any words. Some processors keep only the bits of an address.
TEST_F(Frames, HaveNoMarkOfInterpretedOnes) {
  constexpr std::uint64_t kMark = std::uint64_t{1} << 63;
  volatile std::uint64_t words[16] = {};
  const auto low = reinterpret_cast<std::uint64_t>(&words[0]);
  words[1] = 0x811b'e57c'63ab'cdef;
  std::uint64_t frames[8];
  Trace trace{frames, 8};
  walk({in(by_sp), low, 0}, {low, low + 128}, Mode::kAuto, trace);
  const std::vector<std::uint64_t> found(frames, frames + trace.count);
  EXPECT_THAT(found, Each(Lt(kMark)));
  EXPECT_THAT(found, Contains(in(by_sp)));
  EXPECT_TRUE(trace.truncated);
}

TEST_F(Frames, AboveTheOwnStackAreNotClimbedTo) {
  static constexpr std::size_t kStack = std::size_t{1} << 20;
  auto* room = static_cast<char*>(
      mmap(nullptr, 2 * kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(room, MAP_FAILED);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, room, kStack);
  auto* words = reinterpret_cast<std::uint64_t*>(room + kStack);
  words[0] = reinterpret_cast<std::uint64_t>(words + 2);
  words[1] = in(by_saved);
  words[3] = in(returns_never);
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    const auto low = reinterpret_cast<std::uint64_t>(argument);
    std::uint64_t frames[8];
    Trace trace{frames, 8};
    walk({in(saves_register), low, 0}, {low, low + 128}, Mode::kAuto, trace);
    return reinterpret_cast<void*>(trace.count);
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, words), 0);
  void* count = nullptr;
  ASSERT_EQ(pthread_join(thread, &count), 0);
  EXPECT_EQ(count, reinterpret_cast<void*>(3));
  pthread_attr_destroy(&attributes);
  munmap(room, 2 * kStack);
}

}  // namespace
}  // namespace geiger::unwind
