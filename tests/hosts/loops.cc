// Loops over one entry point each, for counting instructions and system calls.
//
//   loops NAME COUNT [THREADS]
//   loops NAME COUNT counted    once more within counted_loop(), where the counting begins and ends
//
// The blocks of `malloc`, `new` ... are kept, so that the loop holds nothing but
// the call; the pairs free at once.
#include <malloc.h>

#include <cstdlib>
#include <new>
#include <thread>

#include "scenario.h"

namespace {

struct Loop {
  const char* name;
  void (*run)(long count);
};

template <typename Body>
void repeat(long count, Body body) {
  for (long i = 0; i < count; ++i) body();
}

constexpr std::size_t kSize = 64;
constexpr std::align_val_t kWide{64};

#define LOOP(name, expression)                                  \
  {                                                             \
    name, [](long count) { repeat(count, [] { expression; }); } \
  }

constexpr Loop kLoops[] = {
    LOOP("nothing", opaque(static_cast<void*>(nullptr))),
    LOOP("malloc", opaque(malloc(kSize))),
    LOOP("calloc", opaque(calloc(1, kSize))),
    LOOP("realloc", opaque(realloc(nullptr, kSize))),
    LOOP("reallocarray", opaque(reallocarray(nullptr, 1, kSize))),
    LOOP("posix_memalign", void* out = nullptr; (void)!posix_memalign(&out, 64, kSize)),
    LOOP("aligned_alloc", opaque(aligned_alloc(64, kSize))),
    LOOP("memalign", opaque(memalign(64, kSize))),
    LOOP("valloc", opaque(valloc(kSize))),
    LOOP("pvalloc", opaque(pvalloc(kSize))),
    LOOP("new", opaque(::operator new(kSize))),
    LOOP("new_nothrow", opaque(::operator new(kSize, std::nothrow))),
    LOOP("new_array", opaque(::operator new[](kSize))),
    LOOP("new_array_nothrow", opaque(::operator new[](kSize, std::nothrow))),
    LOOP("new_aligned", opaque(::operator new(kSize, kWide))),
    LOOP("new_aligned_nothrow", opaque(::operator new(kSize, kWide, std::nothrow))),
    LOOP("new_array_aligned", opaque(::operator new[](kSize, kWide))),
    LOOP("new_array_aligned_nothrow", opaque(::operator new[](kSize, kWide, std::nothrow))),
    LOOP("malloc+free", free(opaque(malloc(kSize)))),
    LOOP("malloc+realloc+free", free(opaque(realloc(opaque(malloc(kSize)), kSize * 2)))),
    LOOP("new+delete", ::operator delete(opaque(::operator new(kSize)))),
    LOOP("new+delete_sized", ::operator delete(opaque(::operator new(kSize)), kSize)),
    LOOP("new+delete_nothrow", ::operator delete(opaque(::operator new(kSize)), std::nothrow)),
    LOOP("new+delete_array", ::operator delete[](opaque(::operator new(kSize)))),
    LOOP("new+delete_array_sized", ::operator delete[](opaque(::operator new(kSize)), kSize)),
    LOOP("new+delete_array_nothrow",
         ::operator delete[](opaque(::operator new(kSize)), std::nothrow)),
    LOOP("new_aligned+delete_aligned",
         ::operator delete(opaque(::operator new(kSize, kWide)), kWide)),
    LOOP("new_aligned+delete_aligned_sized",
         ::operator delete(opaque(::operator new(kSize, kWide)), kSize, kWide)),
    LOOP("new_aligned+delete_aligned_nothrow",
         ::operator delete(opaque(::operator new(kSize, kWide)), kWide, std::nothrow)),
    LOOP("new_aligned+delete_array_aligned",
         ::operator delete[](opaque(::operator new(kSize, kWide)), kWide)),
    LOOP("new_aligned+delete_array_aligned_sized",
         ::operator delete[](opaque(::operator new(kSize, kWide)), kSize, kWide)),
    LOOP("new_aligned+delete_array_aligned_nothrow",
         ::operator delete[](opaque(::operator new(kSize, kWide)), kWide, std::nothrow)),
    {"free_live",
     // Frees among 4,000 live samples: large blocks first, each certain to be one. LOOPS_LAYOUT
     // chooses their sizes, and so where everything is.
     [](long count) {
       constexpr std::size_t kLive = 4000, kBatch = 1000, kCertain = 40000;
       static void* live[kLive];
       const char* layout = getenv("LOOPS_LAYOUT");
       unsigned state = layout != nullptr ? static_cast<unsigned>(atoi(layout)) : 1;
       if (live[0] == nullptr) {
         for (void*& block : live) {
           state = state * 1664525 + 1013904223;
           block = opaque(malloc(kCertain + (state >> 16) % kCertain));
         }
       }
       static void* batch[kBatch];
       for (long done = 0; done < count; done += kBatch) {
         for (void*& block : batch) block = opaque(malloc(kSize));
         for (void* block : batch) free(block);
       }
     }},
    {"free_none",
     // Frees while no sample is live.
     [](long count) {
       constexpr std::size_t kBatch = 1000;
       static void* batch[kBatch];
       for (long done = 0; done < count; done += kBatch) {
         for (void*& block : batch) block = opaque(malloc(kSize));
         for (void* block : batch) free(block);
       }
     }},
};

void run_in_threads(void (*run)(long), long count, int threads) {
  for (int i = 0; i < threads; ++i) std::thread(run, count / threads).join();
}

}  // namespace

extern "C" [[gnu::noinline]] void counted_loop(void (*run)(long), long count) {
  run(count);
  asm volatile("");  // No tail call, for the function ends where the counting does.
}

int main(int argc, char** argv) {
  for (const Loop& loop : kLoops) {
    if (argc == 2 && strcmp(argv[1], "list") == 0) std::puts(loop.name);
    if (argc < 3 || strcmp(argv[1], loop.name) != 0) continue;
    const long count = atol(argv[2]);
    const int threads = argc > 3 ? atoi(argv[3]) : 0;
    if (threads > 0) {
      run_in_threads(loop.run, count, threads);
    } else {
      loop.run(count);
      if (argc > 3 && strcmp(argv[3], "counted") == 0) counted_loop(loop.run, count);
    }
  }
}
