// Requests without bytes among others. `empty ROUNDS` makes, per round, 16 bytes and twice none
// (malloc and operator new[]), then none by every other entry point once. Odd rounds free theirs.
// `empty ROUNDS COUNT` then makes COUNT without bytes in a row, by operator new[], and keeps them.
// Prints the requests with bytes and those without that returned a block, those freed of the
// latter, and the bytes that the allocator gave for these.
#include <malloc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "scenario.h"

namespace {

std::uint64_t filled = 0, empty = 0, freed = 0, usable = 0;

void* none(void* block) {
  if (block == nullptr) return block;
  ++empty;
  usable += malloc_usable_size(block);
  return block;
}

void round(bool frees) {
  void* some = opaque(malloc(16));
  ++filled;
  void* first = none(opaque(malloc(0)));
  void* second = none(opaque(::operator new[](0)));
  if (!frees) return;
  free(some);
  free(first);
  ::operator delete[](second);
  freed += 2;
}

void every_other() {
  none(opaque(calloc(0, 8)));
  none(opaque(calloc(8, 0)));
  none(opaque(aligned_alloc(64, 0)));
  none(opaque(memalign(64, 0)));
  void* block = nullptr;
  if (posix_memalign(&block, 64, 0) == 0) none(opaque(block));
  none(opaque(::operator new(0)));
  none(opaque(::operator new (0, std::align_val_t{64})));
  none(opaque(realloc(nullptr, 0)));
  // glibc frees and returns nothing: no object came of it.
  ++filled;
  none(opaque(realloc(opaque(malloc(100)), 0)));
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? std::atol(argv[1]) : 0;
  for (long i = 0; i < rounds; ++i) round(i % 2 == 1);
  every_other();
  for (long left = argc > 2 ? std::atol(argv[2]) : 0; left > 0; --left) {
    none(opaque(::operator new[](0)));
  }
  std::printf("%lu %lu %lu %lu\n", filled, empty, freed, usable);
  return 0;
}
