// Arenas in use: seeds, sinks, types, containers.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <memory_resource>
#include <string>
#include <type_traits>
#include <vector>

#include "arena_log.h"
#include "geiger/arena.h"
#include "geiger/arena_resource.h"

// Outside of unnamed namespaces, which compilers spell differently.
namespace arena_test_types {
struct Order {
  int id = 0;
};
template <class T>
struct Box {
  T value{};
};
}  // namespace arena_test_types

namespace geiger {
namespace {

TEST(Arena, FreshArenasDrawDifferentBytes) {
  std::vector<std::size_t> firsts;
  for (int i = 0; i < 20; ++i) {
    Log log;
    Arena arena(with(log, 10000, 0));
    std::size_t objects = 0;
    while (log.allocated.empty()) (void)arena.allocate(1, 1), ++objects;
    firsts.push_back(objects);
  }
  std::sort(firsts.begin(), firsts.end());
  EXPECT_GT(std::unique(firsts.begin(), firsts.end()) - firsts.begin(), 10);
}

TEST(Arena, ReseedingDrawsAsANewArenaDoes) {
  Log old_log, new_log;
  Arena old_arena(with(old_log, 500, 1));
  for (int i = 0; i < 100; ++i) (void)old_arena.allocate(16);
  old_log.allocated.clear();
  old_arena.reseed(77);
  Arena new_arena(with(new_log, 500, 77));
  for (int i = 0; i < 500; ++i) (void)old_arena.allocate(16), (void)new_arena.allocate(16);
  ASSERT_EQ(old_log.allocated.size(), new_log.allocated.size());
  for (std::size_t i = 0; i < new_log.allocated.size(); ++i) {
    EXPECT_EQ(old_log.allocated[i].offset, new_log.allocated[i].offset);
  }
}

// The child of fork makes arenas of its own; the same seed as the parent's next one would
// draw the same bytes in both.
TEST(Arena, ChildrenOfForkDrawTheirOwnBytes) {
  const auto first_skips = [](std::uint64_t* skips) {
    for (int i = 0; i < 4; ++i) {
      Log log;
      Arena arena(with(log, 1 << 20, 0));
      while (log.allocated.empty()) (void)arena.allocate(64, 1), ++skips[i];
    }
  };
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  std::uint64_t skips[4]{}, theirs[4]{};
  first_skips(skips);
  if (child == 0) _exit(write(ends[1], skips, sizeof skips) == sizeof skips ? 0 : 1);
  ASSERT_EQ(read(ends[0], theirs, sizeof theirs), static_cast<ssize_t>(sizeof theirs));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_NE(std::memcmp(skips, theirs, sizeof skips), 0);
  close(ends[0]);
  close(ends[1]);
}

struct Busy {
  Arena* arena = nullptr;
  int calls = 0;
};

TEST(Arena, ASinkMayAllocateFromItsArena) {
  Busy busy;
  ArenaOptions options;
  options.interval = 1;
  options.sink = {&busy,
                  [](void* context, const ArenaSample&) noexcept {
                    auto& self = *static_cast<Busy*>(context);
                    ++self.calls;
                    (void)self.arena->allocate(100);
                  },
                  nullptr};
  Arena arena(options);
  busy.arena = &arena;
  for (int i = 0; i < 100; ++i) (void)arena.allocate(10);
  EXPECT_EQ(busy.calls, 100);
  EXPECT_EQ(arena.totals().dropped, 100U);
  EXPECT_EQ(arena.totals().samples, 200U);
}

TEST(ArenaDeathTest, ASinkMustNotResetItsArena) {
  EXPECT_DEATH(
      {
        Busy busy;
        ArenaOptions options;
        options.interval = 1;
        options.sink.context = &busy;
        options.sink.allocated = [](void* context, const ArenaSample&) noexcept {
          static_cast<Busy*>(context)->arena->reset();
        };
        Arena arena(options);
        busy.arena = &arena;
        (void)arena.allocate(10);
      },
      "inside its sink");
}

static_assert(
    !std::is_assignable_v<decltype(SampleSink::allocated)&, void (*)(void*, const ArenaSample&)>,
    "a sink that may throw does not compile");

namespace names = arena_test_types;

TEST(Arena, SamplesCarryTypes) {
  Log log;
  Arena arena(with(log, 1, 1));
  auto* order = arena.make<names::Order>(names::Order{42});
  EXPECT_EQ(order->id, 42);
  (void)arena.make<names::Box<unsigned char>>();
  (void)arena.allocate(8);
  ASSERT_EQ(log.allocated.size(), 3U);
  EXPECT_STREQ(log.allocated[0].type, "arena_test_types::Order");
  EXPECT_STREQ(log.allocated[1].type, "arena_test_types::Box<unsigned char>");
  EXPECT_EQ(log.allocated[2].type, nullptr);
  EXPECT_EQ(log.allocated[0].alignment, alignof(names::Order));
  EXPECT_STREQ(type_name<int>(), "int");
}

TEST(ArenaAllocator, NamesTheTypesOfContainers) {
  Log log;
  Arena arena(with(log, 1, 1));
  std::vector<names::Order, ArenaAllocator<names::Order>> orders{
      ArenaAllocator<names::Order>(arena)};
  orders.resize(10);
  ASSERT_EQ(log.allocated.size(), 1U);
  EXPECT_STREQ(log.allocated[0].type, "arena_test_types::Order");
  EXPECT_EQ(log.allocated[0].size, 10 * sizeof(names::Order));
  std::list<int, ArenaAllocator<int>> numbers{ArenaAllocator<int>(arena)};
  numbers.push_back(1);
  EXPECT_STREQ(log.allocated.back().type, "std::_List_node<int>");
  EXPECT_EQ(ArenaAllocator<int>(arena), ArenaAllocator<double>(arena));
  Arena other;
  EXPECT_NE(ArenaAllocator<int>(arena), ArenaAllocator<int>(other));
}

TEST(ArenaResource, ServesPmrContainers) {
  Log log;
  Arena arena(with(log, 1, 1));
  ArenaResource resource(arena);
  std::pmr::vector<std::pmr::string> words(&resource);
  for (int i = 0; i < 100; ++i) words.emplace_back("a word that is too long for the string itself");
  EXPECT_EQ(words[99].get_allocator().resource(), &resource);
  EXPECT_GE(log.allocated.size(), 100U);
  EXPECT_EQ(resource, ArenaResource(arena));
  Arena other;
  EXPECT_NE(resource, ArenaResource(other));
  EXPECT_FALSE(resource == *std::pmr::new_delete_resource());
}

}  // namespace
}  // namespace geiger
