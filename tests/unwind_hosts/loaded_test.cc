// Walks through modules that come and go, and through the loader's trampoline.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/test_refusal.h"
#include "oracle.h"

namespace geiger::unwind {
namespace {

using base::in_child;
using CallBack = void(void (*)());

thread_local Chain t_own, t_libgcc;
thread_local std::uint64_t t_hash;

[[gnu::noinline]] void compare() {
  const Registers start = caller_registers();
  ask_libgcc(start.ip, t_libgcc);
  t_hash = walk_into(start, bounds_here(start.sp), t_own);
  // Warm: now from the cache.
  EXPECT_EQ(walk_into(start, bounds_here(start.sp), t_own), t_hash);
}

[[gnu::noinline]] void compare_in_caller() { compare(); }

class Library {
 public:
  explicit Library(const std::string& name)
      : handle_(dlopen((GEIGER_BINARY_DIR "/lib/" + name).c_str(), RTLD_LAZY | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Library() { dlclose(handle_); }
  [[nodiscard]] CallBack* find(const char* name) const {
    return reinterpret_cast<CallBack*>(dlsym(handle_, name));
  }

 private:
  void* handle_;
};

struct Seen {
  std::uint64_t address, hash;
  std::uint32_t modules;
};

[[gnu::noinline]] Seen walk_through(const std::string& library) {
  const Library loaded(library);
  CallBack* call_back = loaded.find("call_back");
  call_back(compare_in_caller);
  EXPECT_TRUE(t_own == t_libgcc) << library;
  EXPECT_FALSE(t_own.truncated) << library;
  return {reinterpret_cast<std::uint64_t>(call_back), t_hash, modules_known()};
}

void expect_told_apart(const std::string& small, const std::string& large) {
  const std::vector<std::string> names = {small, large, small};
  std::vector<Seen> seen;
  for (const std::string& name : names) seen.push_back(walk_through(name));  // One call site.
  ASSERT_EQ(seen[0].address, seen[1].address) << "the loader took another address";
  ASSERT_EQ(seen[0].address, seen[2].address);
  EXPECT_NE(seen[0].hash, seen[1].hash);
  EXPECT_EQ(seen[0].hash, seen[2].hash);
  EXPECT_EQ(seen[1].modules, seen[0].modules + 1);
  EXPECT_EQ(seen[2].modules, seen[1].modules);
}

class LoadedModules : public testing::Test {
 protected:
  void SetUp() override { init(); }
};

// An id of at least 8 bytes is told; one that is longer than any is none, and one shorter than
// 16 does not tell modules apart. Before the tests that may fill the table of modules, as they do
// where each library comes to another address.
TEST_F(LoadedModules, MayHaveIdsOfAnyLength) {
  const auto id_bytes = [](const std::string& library) {
    return in_child([&] {  // Where none was before it.
      return static_cast<int>(module(walk_through(library).modules).build_id_bytes);
    });
  };
  EXPECT_EQ(id_bytes("libgeiger_reloaded_short_id.so"), 0);
  EXPECT_EQ(id_bytes("libgeiger_reloaded_half_id.so"), 8);
  EXPECT_EQ(id_bytes("libgeiger_reloaded_long_id.so"), 0);
}

TEST_F(LoadedModules, AreToldApartAtTheSameAddress) {
  expect_told_apart("libgeiger_reloaded_small.so", "libgeiger_reloaded_large.so");
}

// Without build ids nothing is kept between walks, so nothing can go stale.
TEST_F(LoadedModules, HaveFreshRulesWithoutBuildId) {
  for (int round = 0; round < 3; ++round) {
    const Seen first = walk_through("libgeiger_reloaded_small_nameless.so");
    const Seen second = walk_through("libgeiger_reloaded_large_nameless.so");
    ASSERT_EQ(first.address, second.address) << "the loader took another address";
  }
}

// Libraries move under the feet of other threads' walks.
TEST_F(LoadedModules, AreToldApartWhileThreadsLoadAndUnload) {
  const std::vector<std::string> names = {
      "libgeiger_reloaded_small.so", "libgeiger_reloaded_large.so",
      "libgeiger_reloaded_small_nameless.so", "libgeiger_reloaded_large_nameless.so"};
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&names, thread] {
      for (std::size_t i = 0; i < 300; ++i) walk_through(names[(i * (thread + 1) + thread) % 4]);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The child has one thread, whatever the others were doing; nothing may wait for
// them. An alarm ends a child that does.
TEST_F(LoadedModules, LeaveForkedChildrenAble) {
  std::atomic<bool> is_over{false};
  std::thread loader([&is_over] {
    while (!is_over) walk_through("libgeiger_reloaded_small.so");
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      compare();
      _exit(t_own == t_libgcc && !t_own.truncated ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  is_over = true;
  loader.join();
}

/// Walks through the library, and lets something else stand where it stood.
bool walks_well_and_leaves(const std::string& name) {
  const std::uint64_t address = walk_through(name).address & ~std::uint64_t{4095};
  const void* taken = mmap(reinterpret_cast<void*>(address), 4096, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  return taken != MAP_FAILED && t_own == t_libgcc && !t_own.truncated;
}

TEST_F(LoadedModules, BeyondThoseThatAreKeptAreWalkedAllTheSame) {
  EXPECT_EQ(in_child([] {
              const std::string name = "libgeiger_reloaded_small.so";
              for (std::uint32_t i = 0; i < kMaxModules + kMaxModules / 2; ++i) {
                if (!walks_well_and_leaves(name)) return 1;
              }
              return modules_known() == kMaxModules ? 0 : 2;
            }),
            0);
}

TEST_F(LoadedModules, LetWalksPassTheLazyBindingTrampoline) {
  const Library loaded("libgeiger_lazy.so");
  t_own.count = 0;
  loaded.find("call_chosen")(compare_in_caller);
  EXPECT_GT(t_own.count, 5U);
  EXPECT_TRUE(t_own == t_libgcc);
  EXPECT_FALSE(t_own.truncated);
}

}  // namespace
}  // namespace geiger::unwind
