#include "runtime/unwind/unwind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "../tests/unwind_hosts/oracle.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/test_registers.h"

asm(".pushsection .text\n.balign 16\n.type geiger_trap_at_once, @function\n"
    "geiger_trap_at_once:\n.cfi_startproc\n" GEIGER_TRAP
    "\n.cfi_endproc\n.size geiger_trap_at_once, .-geiger_trap_at_once\n.popsection\n");

namespace geiger::unwind {
namespace {

// Chains are too large for small stacks.
Chain g_own, g_libgcc;
int g_compared, g_different, g_truncated;

/// Walks from its caller with both unwinders and counts.
[[gnu::noinline]] void compare(StackBounds bounds) {
  const Registers start = caller_registers();
  ask_libgcc(start.ip, g_libgcc);
  walk_into(start, bounds, g_own);
  ++g_compared;
  cut_behind_stub(g_own, g_libgcc);
  if (!(g_own == g_libgcc)) ++g_different;
  if (g_own.truncated) ++g_truncated;
}

[[gnu::noinline]] void compare_here() {
  compare(bounds_here(reinterpret_cast<std::uint64_t>(__builtin_frame_address(0))));
}

[[gnu::noinline]] void compare_on_unknown_stack() { compare({0, 0}); }

class Walks : public testing::Test {
 protected:
  void SetUp() override {
    init();
    g_compared = g_different = g_truncated = 0;
  }
  static void expect_all_equal() {
    EXPECT_GT(g_compared, 0);
    EXPECT_EQ(g_different, 0);
    EXPECT_EQ(g_truncated, 0);
  }
};

// ---------------------------------------------------------- kinds of frames ---

volatile int g_sink;

[[gnu::noinline]] void recurse(int depth) {
  if (depth == 0) {
    compare_here();
  } else {
    recurse(depth - 1);
  }
  g_sink = depth;
}

[[gnu::noinline]] void recurse_with_bp(int depth) {
  asm volatile("" ::"r"(__builtin_frame_address(0)));  // Forces a frame pointer.
  if (depth == 0) {
    compare_here();
  } else {
    recurse_with_bp(depth - 1);
  }
  g_sink = depth;
}

[[gnu::noinline]] void recurse_with_alloca(int depth) {
  auto* room = static_cast<volatile unsigned char*>(
      __builtin_alloca(static_cast<std::size_t>(depth) * 24 + 8));
  room[0] = 1;
  if (depth == 0) {
    compare_here();
  } else {
    recurse_with_alloca(depth - 1);
  }
  g_sink = room[0];
}

// A realigned frame keeps its CFA in memory, addressed by the frame pointer.
[[gnu::noinline]] void recurse_realigned(int depth) {
  alignas(64) volatile unsigned char block[128];
  block[depth % 128] = 1;
  if (depth == 0) {
    compare_here();
  } else {
    recurse_realigned(depth - 1);
  }
  g_sink = block[depth % 128];
}

TEST_F(Walks, EqualLibgccsWithoutFramePointers) {
  for (const int depth : {0, 1, 10, 200}) recurse(depth);
  expect_all_equal();
}

TEST_F(Walks, EqualLibgccsWithFramePointers) {
  for (const int depth : {0, 1, 10, 200}) recurse_with_bp(depth);
  expect_all_equal();
}

TEST_F(Walks, EqualLibgccsWithAlloca) {
  for (const int depth : {0, 1, 10, 200}) recurse_with_alloca(depth);
  expect_all_equal();
}

TEST_F(Walks, EqualLibgccsWithRealignedFrames) {
  for (const int depth : {0, 1, 10, 200}) recurse_realigned(depth);
  expect_all_equal();
}

jmp_buf g_way_out;

// Its call is the last instruction of the caller: the return address belongs to
// the next function, if to any.
[[gnu::noinline, noreturn]] void compare_and_jump() {
  compare_here();
  longjmp(g_way_out, 1);
}
[[gnu::noinline, noreturn]] void end_in_call() { compare_and_jump(); }

TEST_F(Walks, LookBeforeTheReturnAddress) {
  if (setjmp(g_way_out) == 0) end_in_call();
  expect_all_equal();
  EXPECT_GT(g_own.count, 5U);
}

// ---------------------------------------------------------------- mixtures ---

std::mt19937_64 g_random(42);

[[gnu::noinline]] void wander(int depth);

int compare_numbers(const void* a, const void* b) {
  if (g_random() % 16 == 0) wander(0);
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

[[gnu::noinline]] void wander_in_sort(int depth) {
  int numbers[5] = {5, 3, 4, 1, 2};
  qsort(numbers, 5, sizeof numbers[0], compare_numbers);
  wander(depth - 1);
}

[[gnu::noinline]] void wander_in_function(int depth) {
  const std::vector<std::function<void()>> calls(2, [depth] { wander(depth / 2 - 1); });
  for (const auto& call : calls) call();
}

[[gnu::noinline]] void wander_and_throw(int depth) {
  try {
    wander(depth - 1);
    throw depth;
  } catch (int) {
    wander(depth / 3);
  }
}

[[gnu::noinline]] void wander_realigned(int depth) {
  alignas(32) volatile unsigned char block[64];
  block[0] = 1;
  wander(depth - 1);
  g_sink = block[0];
}

[[gnu::noinline]] void wander_with_alloca(int depth) {
  auto* room = static_cast<volatile unsigned char*>(__builtin_alloca(g_random() % 500 + 1));
  room[0] = 1;
  wander(depth - 1);
  g_sink = room[0];
}

[[gnu::noinline]] void wander(int depth) {
  if (g_compared >= 20'000) return;
  if (depth <= 0 || g_random() % 4 == 0) compare_here();
  if (depth <= 0) return;
  switch (g_random() % 5) {
    case 0:
      return wander_in_sort(depth);
    case 1:
      return wander_in_function(depth);
    case 2:
      return wander_and_throw(depth);
    case 3:
      return wander_realigned(depth);
    default:
      return wander_with_alloca(depth);
  }
}

TEST_F(Walks, EqualLibgccsAtRandomPoints) {
  while (g_compared < 20'000) wander(40);
  expect_all_equal();
}

// ------------------------------------------------------------ ends of stacks ---

template <class Body>
void run_in_thread(std::size_t stack_bytes, Body body) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, stack_bytes), 0);
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    (*static_cast<Body*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &body), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

TEST_F(Walks, EndAtTheStartOfAThread) {
  run_in_thread(1 << 20, [] { recurse(3); });
  expect_all_equal();
}

TEST_F(Walks, NeedNoBounds) {
  compare_on_unknown_stack();
  run_in_thread(1 << 20, [] { compare_on_unknown_stack(); });
  expect_all_equal();
}

[[gnu::noinline]] Chain* walk_deep(int depth) {
  Chain* chain = nullptr;
  if (depth == 0) {
    const Registers start = caller_registers();
    walk_into(start, bounds_here(start.sp), g_own);
    chain = &g_own;
  } else {
    chain = walk_deep(depth - 1);
  }
  g_sink = depth;
  return chain;
}

#ifdef __SANITIZE_THREAD__
constexpr int kDeep = 50'000;  // The sanitizer's own stack of calls holds 65,536.
#else
constexpr int kDeep = 100'000;
#endif

TEST_F(Walks, StopAtCapacityInDeepRecursion) {
  run_in_thread(64 << 20, [] { walk_deep(kDeep); });
  EXPECT_EQ(g_own.count, kOracleFrames);
  EXPECT_TRUE(g_own.truncated);
}

TEST_F(Walks, AreNotTruncatedWhenTheyJustFit) {
  compare_here();
  const Registers start = caller_registers();
  const StackBounds bounds = bounds_here(start.sp);
  std::uint64_t frames[512];
  Trace whole{frames, 512};
  walk(start, bounds, Mode::kAuto, whole);
  Trace fitting{frames, whole.count};
  walk(start, bounds, Mode::kAuto, fitting);
  EXPECT_FALSE(fitting.truncated);
  EXPECT_EQ(fitting.hash, whole.hash);
  Trace tight{frames, whole.count - 1};
  walk(start, bounds, Mode::kAuto, tight);
  EXPECT_TRUE(tight.truncated);
  EXPECT_EQ(tight.count, whole.count - 1);
  EXPECT_NE(tight.hash, whole.hash);
  Trace none{nullptr, 0};
  walk(start, bounds, Mode::kAuto, none);
  EXPECT_TRUE(none.truncated);
}

// ----------------------------------------------------------------- signals ---

void compare_in_handler(int) { compare_on_unknown_stack(); }

void handle(int signal, int flags, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ASSERT_EQ(sigaction(signal, &action, nullptr), 0);
}

TEST_F(Walks, PassSignalFrames) {
  handle(SIGUSR1, 0, compare_in_handler);
  raise(SIGUSR1);
  expect_all_equal();
}

TEST_F(Walks, PassSignalFramesOnAlternateStacks) {
  std::vector<char> room(1 << 16);
  const stack_t alternate{room.data(), 0, room.size()};
  stack_t before;
  ASSERT_EQ(sigaltstack(&alternate, &before), 0);
  handle(SIGUSR1, SA_ONSTACK, compare_in_handler);
  raise(SIGUSR1);
  handle(SIGUSR1, SA_ONSTACK, [](int) {
    const auto here = reinterpret_cast<std::uint64_t>(&g_own);
    compare({here - 16, reinterpret_cast<std::uint64_t>(__libc_stack_end)});
  });
  ASSERT_EQ(sigaltstack(&before, nullptr), 0);
  expect_all_equal();
}

// The interrupted ip is the first byte of a function: a lookup at ip - 1 would
// find its neighbour.
extern "C" [[gnu::visibility("hidden")]] void geiger_trap_at_once();  // NOLINT: of the assembler.

sigjmp_buf g_way_out_of_signal;

TEST_F(Walks, LookAtTheInterruptedInstruction) {
  handle(SIGILL, 0, [](int) {
    compare_on_unknown_stack();
    siglongjmp(g_way_out_of_signal, 1);
  });
  if (sigsetjmp(g_way_out_of_signal, 1) == 0) geiger_trap_at_once();
  signal(SIGILL, SIG_DFL);
  expect_all_equal();
  const auto trap = reinterpret_cast<std::uint64_t>(geiger_trap_at_once);
  EXPECT_THAT(std::vector(g_own.frames, g_own.frames + g_own.count), testing::Contains(trap + 1));
}

// Walks from every instruction of some library code: prologues, epilogues, PLT entries, the
// lazy-binding trampoline.
#if defined(__x86_64__)
[[gnu::noinline, gnu::naked]] void start_stepping() {
  asm("pushfq\n\t.cfi_adjust_cfa_offset 8\n\torq $0x100, (%rsp)\n\tpopfq\n\t"
      ".cfi_adjust_cfa_offset -8\n\tret");
}
[[gnu::noinline, gnu::naked]] void stop_stepping() {
  asm("pushfq\n\t.cfi_adjust_cfa_offset 8\n\tandq $~0x100, (%rsp)\n\tpopfq\n\t"
      ".cfi_adjust_cfa_offset -8\n\tret");
}

[[gnu::noinline]] void step_through(void (*body)()) {
  handle(SIGTRAP, 0, [](int) { compare_on_unknown_stack(); });
  start_stepping();
  body();
  stop_stepping();
  signal(SIGTRAP, SIG_DFL);
}
#else
// A program cannot have itself stepped: a timer chooses. It must not choose a point below glibc's
// lazy binding (up to 2.41 at least): _dl_runtime_resolve's table leaves out the 16 bytes that a
// PLT entry pushes. No unwinder can pass it, and libgcc's crashes. The first call binds everything.
[[gnu::noinline]] void step_through(void (*body)()) {
  body();
  constexpr int kWanted = 2'000;
  constexpr suseconds_t kMicroseconds = 200;
  handle(SIGALRM, SA_RESTART, [](int) { compare_on_unknown_stack(); });
  const itimerval often{{0, kMicroseconds}, {0, kMicroseconds}};
  const itimerval never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  while (g_compared < kWanted) body();
  setitimer(ITIMER_REAL, &never, nullptr);
  signal(SIGALRM, SIG_DFL);
}
#endif

TEST_F(Walks, EqualLibgccsAtEveryInstruction) {
  step_through([] {
    int numbers[6] = {6, 5, 3, 4, 1, 2};
    qsort(numbers, 6, sizeof numbers[0], [](const void* a, const void* b) {
      return *static_cast<const int*>(a) - *static_cast<const int*>(b);
    });
    char text[64];
    g_sink = snprintf(text, sizeof text, "%d %s %.3f", numbers[0], "text", 1.5);
    g_sink = static_cast<int>(strtod("1.25", nullptr));
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);  // In the vDSO.
  });
  EXPECT_GT(g_compared, 1'000);
  expect_all_equal();
}

// ----------------------------------------------------------- hostile stacks ---

constexpr StackBounds kUnknown{0, 0};

ucontext_t g_main_context, g_fiber_context;

TEST_F(Walks, WorkOnFibers) {
  std::vector<char> room(1 << 18);
  getcontext(&g_fiber_context);
  g_fiber_context.uc_stack = {room.data(), 0, room.size()};
  g_fiber_context.uc_link = &g_main_context;
  makecontext(
      &g_fiber_context, +[] { compare_on_unknown_stack(); }, 0);
  swapcontext(&g_main_context, &g_fiber_context);
  expect_all_equal();
}

TEST_F(Walks, SurviveGarbageRegisters) {
  const Registers good = caller_registers();
  const StackBounds bounds = bounds_here(good.sp);
  std::uint64_t frames[255];
  for (int i = 0; i < 20'000; ++i) {
    const auto garble = [](std::uint64_t value) {
      switch (g_random() % 4) {
        case 0:
          return static_cast<std::uint64_t>(g_random());
        case 1:
          return value ^ (g_random() & 0xffff);
        case 2:
          return g_random() & 0x7fffffffffff;
        default:
          return value;
      }
    };
    Trace trace{frames, 255};
    walk({garble(good.ip), good.sp, garble(good.bp)}, bounds, Mode::kAuto, trace);
    walk({garble(good.ip), garble(good.sp), garble(good.bp)}, kUnknown, Mode::kAuto, trace);
    walk({good.ip, good.sp, garble(good.bp)}, bounds, Mode::kFramePointers, trace);
    EXPECT_LE(trace.count, 255U);
  }
}

// Words of garbage, many of which point to code or into the same block.
TEST_F(Walks, SurviveGarbageStacks) {
  constexpr std::size_t kWords = 4096;
  std::vector<std::uint64_t> stack(kWords);
  const auto low = reinterpret_cast<std::uint64_t>(stack.data());
  const StackBounds bounds{low, low + kWords * 8};
  const Registers here = caller_registers();
  compare_here();
  std::uint64_t frames[255];
  for (int round = 0; round < 300; ++round) {
    for (auto& word : stack) {
      const std::uint64_t pick = g_random();
      word = pick % 3 == 0   ? g_own.frames[pick / 3 % g_own.count]
             : pick % 3 == 1 ? low + (pick / 3 % kWords) * 8
                             : here.ip + pick % 100'000;
    }
    for (int start = 0; start < 30; ++start) {
      const std::uint64_t sp = low + g_random() % kWords * 8;
      Trace trace{frames, 255};
      const Registers from{g_own.frames[g_random() % g_own.count], sp,
                           low + g_random() % kWords * 8};
      walk(from, bounds, Mode::kAuto, trace);
      walk(from, kUnknown, Mode::kAuto, trace);
      walk(from, bounds, Mode::kFramePointers, trace);
    }
  }
}

// A stack of unknown extent ends before an unreadable page.
TEST_F(Walks, DoNotReadPastAnUnknownStack) {
  const std::size_t page = 4096;
  void* room = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(room, MAP_FAILED);
  std::memset(room, 0x41, page);  // A zero return address would be a proper end.
  const auto end = reinterpret_cast<std::uint64_t>(room) + page;
  ASSERT_EQ(mprotect(static_cast<char*>(room) + page, page, PROT_NONE), 0);
  std::uint64_t frames[16];
  for (std::uint64_t distance = 0; distance <= 64; distance += 8) {
    const Registers start{caller_registers().ip, end - distance, end - distance};
    for (const Mode mode : {Mode::kAuto, Mode::kFramePointers}) {
      errno = 77;
      Trace trace{frames, 16};
      walk(start, kUnknown, mode, trace);
      EXPECT_TRUE(trace.truncated);
      EXPECT_EQ(errno, 77);
    }
  }
  munmap(room, 2 * page);
}

// The last frame ends where a stack of known extent ends: the last word before it is read, none
// after it.
TEST_F(Walks, StayBelowTheEndOfAKnownStack) {
  const std::size_t page = 4096;
  void* room = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(room, MAP_FAILED);
  compare_here();
  const auto end = reinterpret_cast<std::uint64_t>(room) + page;
  ASSERT_EQ(mprotect(static_cast<char*>(room) + page, page, PROT_NONE), 0);
  std::uint64_t frames[16];
  for (std::size_t i = 0; i < g_own.count; ++i) {
    for (std::uint64_t distance = 0; distance <= 512; distance += 8) {
      for (const std::uint64_t bp : {end - distance, end - 8, end, ~std::uint64_t{7}}) {
        std::memset(room, 0, page);
        Trace trace{frames, 16};
        walk({g_own.frames[i], end - distance, bp}, {end - page, end}, Mode::kAuto, trace);
        EXPECT_LE(trace.count, 2U);
      }
    }
  }
  munmap(room, 2 * page);
}

// ---------------------------------------------------------- deep recursion ---

[[gnu::noinline]] Trace walk_below(int depth, std::uint64_t* frames, std::size_t most) {
  Trace trace{.frames = frames, .capacity = 64, .most = most};
  if (depth == 0) {
    const Registers start = caller_registers();
    walk(start, bounds_here(start.sp), Mode::kAuto, trace);
  } else {
    trace = walk_below(depth - 1, frames, most);
  }
  g_sink = depth;
  return trace;
}

TEST_F(Walks, FoldRecursionWhereThereIsNoMoreRoom) {
  std::uint64_t frames[3][64];
  std::vector<Trace> traces;
  for (const int depth : {3, 1'000, 20'000}) {
    traces.push_back(walk_below(depth, frames[traces.size()], 65'536));
    EXPECT_FALSE(traces.back().truncated);
  }
  const auto& [shallow, deep, deeper] = std::tie(traces[0], traces[1], traces[2]);
  const auto frames_of = [](const Trace& trace) {
    return std::vector(trace.frames, trace.frames + trace.count);
  };
  EXPECT_EQ(frames_of(deep), frames_of(deeper));
  EXPECT_EQ(deep.hash, deeper.hash) << "one stack";
  EXPECT_EQ(deep.folded + 19'000, deeper.folded);
  EXPECT_EQ(shallow.folded, 0U);
  EXPECT_EQ(std::set(frames[0], frames[0] + shallow.count),
            std::set(frames[2], frames[2] + deep.count));
}

TEST_F(Walks, FollowNoMoreThanWasAskedFor) {
  std::uint64_t frames[64];
  for (const std::size_t most : {0U, 64U, 65U, 1'000U}) {
    const Trace trace = walk_below(20'000, frames, most);
    EXPECT_TRUE(trace.truncated);
    EXPECT_EQ(trace.count + trace.folded, std::max<std::size_t>(most, 64));
  }
}

// ------------------------------------------------------------------- modes ---

[[gnu::noinline]] std::size_t count_by_bp(int depth) {
  asm volatile("" ::"r"(__builtin_frame_address(0)));
  std::size_t count = 0;
  if (depth == 0) {
    const Registers start = caller_registers();
    std::uint64_t frames[255];
    Trace trace{frames, 255};
    walk(start, bounds_here(start.sp), Mode::kFramePointers, trace);
    for (std::size_t i = 1; i < trace.count; ++i) count += frames[i] == frames[1] ? 1 : 0;
  } else {
    count = count_by_bp(depth - 1);
  }
  g_sink = depth;
  return count;
}

TEST_F(Walks, FollowFramePointersOnly) { EXPECT_GE(count_by_bp(50), 49U); }

TEST_F(Walks, WorkWithoutTheLoadersLookup) {
  use_loader_lookup_for_testing(false);
  recurse(20);
  use_loader_lookup_for_testing(true);
  expect_all_equal();
}

TEST_F(Walks, NameEveryModuleOnce) {
  recurse(2);
  const std::uint32_t known = modules_known();
  ASSERT_GT(known, 2U);
  for (std::uint32_t id = 1; id <= known; ++id) {
    EXPECT_EQ(module(id).id, id);
    EXPECT_LT(module(id).start, module(id).end);
    for (std::uint32_t other = 1; other < id; ++other) {
      EXPECT_TRUE(module(id).start >= module(other).end || module(id).end <= module(other).start);
    }
  }
  recurse(2);
  EXPECT_EQ(modules_known(), known);
}

}  // namespace
}  // namespace geiger::unwind
