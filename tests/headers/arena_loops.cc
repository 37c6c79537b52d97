// Loops over one way to allocate from an arena each, for counting instructions.
//
//   arena_loops LOOP COUNT off|on|plain
//
// One chunk holds everything and, on, nothing reaches the interval: what is counted is the
// fast path. The functions fast_* hold nothing else; a test reads their code.
#include <cstdlib>
#include <cstring>

#include "geiger/arena.h"
#include "geiger/arena_resource.h"
#include "plain_arena.h"

namespace {

struct Order {
  long id;
  double amount;
  char side;
};

volatile std::size_t g_size = 48;

template <class Pointer>
void use(Pointer pointer) {
  asm volatile("" : : "r"(pointer) : "memory");
}

}  // namespace

extern "C" {
[[gnu::noinline]] void* fast_constant(geiger::Arena& arena) { return arena.allocate(48); }
[[gnu::noinline]] void* fast_make(geiger::Arena& arena) { return arena.make<Order>(); }
[[gnu::noinline]] void* fast_sized(geiger::Arena& arena, std::size_t size) {
  return arena.allocate(size);
}
[[gnu::noinline]] void* fast_aligned(geiger::Arena& arena, std::size_t size) {
  return arena.allocate(size, 64);
}
[[gnu::noinline]] void* plain_constant(PlainArena& arena) { return arena.allocate(48); }
[[gnu::noinline]] void* plain_make(PlainArena& arena) { return arena.make<Order>(); }
[[gnu::noinline]] void* plain_sized(PlainArena& arena, std::size_t size) {
  return arena.allocate(size);
}
[[gnu::noinline]] void* plain_aligned(PlainArena& arena, std::size_t size) {
  return arena.allocate(size, 64);
}
}

namespace {

template <class Body>
void repeat(long count, Body body) {
  for (long i = 0; i < count; ++i) use(body());
}

bool run_arena(const char* loop, long count, bool is_on) {
  geiger::ArenaOptions options;
  options.chunk_size = std::size_t{64} << 20;
  options.interval = is_on ? std::uint64_t{1} << 50 : 0;
  options.seed = 1;
  geiger::Arena arena(options);
  geiger::ArenaResource resource(arena);
  std::pmr::memory_resource* memory = &resource;
  use(memory);
  if (std::strcmp(loop, "constant") == 0) {
    repeat(count, [&] { return fast_constant(arena); });
  } else if (std::strcmp(loop, "make") == 0) {
    repeat(count, [&] { return fast_make(arena); });
  } else if (std::strcmp(loop, "sized") == 0) {
    repeat(count, [&] { return fast_sized(arena, g_size); });
  } else if (std::strcmp(loop, "aligned") == 0) {
    repeat(count, [&] { return fast_aligned(arena, g_size); });
  } else if (std::strcmp(loop, "pmr") == 0) {
    repeat(count, [&] { return memory->allocate(g_size, 16); });
  } else {
    return false;
  }
  return true;
}

bool run_plain(const char* loop, long count) {
  PlainArena arena(std::size_t{64} << 20);
  if (std::strcmp(loop, "constant") == 0) {
    repeat(count, [&] { return plain_constant(arena); });
  } else if (std::strcmp(loop, "make") == 0) {
    repeat(count, [&] { return plain_make(arena); });
  } else if (std::strcmp(loop, "sized") == 0) {
    repeat(count, [&] { return plain_sized(arena, g_size); });
  } else if (std::strcmp(loop, "aligned") == 0) {
    repeat(count, [&] { return plain_aligned(arena, g_size); });
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const long times = std::atol(arguments[2]);
  const bool is_plain = std::strcmp(arguments[3], "plain") == 0;
  const bool is_known = is_plain ? run_plain(arguments[1], times)
                                 : run_arena(arguments[1], times, arguments[3][1] == 'n');
  return is_known ? 0 : 2;
}
