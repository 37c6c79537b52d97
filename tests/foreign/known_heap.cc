// A program that knows its heap, for profilers that are not ours: three functions allocate,
// and a line of JSON at the end tells what is live of each, in bytes as asked for and as the
// allocator gave them, and what they allocated in all.
//
//   known_heap [HEAP_SAMPLE]     with tcmalloc also writes its heap sample there
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#ifdef WITH_TCMALLOC
#include <gperftools/malloc_extension.h>

#include <string>
#endif

namespace {

struct Known {
  const char* name;
  unsigned long long count = 0, live = 0, live_usable = 0, allocated = 0;
};

// Not to be merged, inlined or left out.
__attribute__((noinline)) void* small_object(std::size_t bytes) {
  void* made = std::malloc(bytes);
  static_cast<volatile char*>(made)[0] = 1;
  return made;
}
__attribute__((noinline)) void* medium_object(std::size_t bytes) {
  void* made = std::malloc(bytes);
  static_cast<volatile char*>(made)[0] = 2;
  return made;
}
__attribute__((noinline)) void* large_object(std::size_t bytes) {
  void* made = std::malloc(bytes);
  static_cast<volatile char*>(made)[0] = 3;
  return made;
}

void note(Known& known, void* made, std::size_t bytes, bool is_kept) {
  known.allocated += bytes;
  if (!is_kept) return std::free(made);
  ++known.count;
  known.live += bytes;
  known.live_usable += malloc_usable_size(made);
}

void print(const Known& known, const char* end) {
  std::printf("\"%s\": {\"count\": %llu, \"live\": %llu, \"usable\": %llu, \"allocated\": %llu}%s",
              known.name, known.count, known.live, known.live_usable, known.allocated, end);
}

}  // namespace

int main(int argc, char** argv) {
  // tcmalloc's sampler sleeps through the first 16 MiB of a thread.
  for (int i = 0; i < 64; ++i) std::free(large_object(1 << 20));
  Known known_small{"small_object"}, known_medium{"medium_object"}, known_large{"large_object"};
  known_large.allocated = 64ULL << 20;
  for (std::size_t i = 0; i < 200000; ++i) {
    const std::size_t bytes = 16 + i % 200;
    note(known_small, small_object(bytes), bytes, i % 2 == 0);
  }
  for (std::size_t i = 0; i < 20000; ++i) {
    const std::size_t bytes = 3000 + i % 2000;
    note(known_medium, medium_object(bytes), bytes, i % 4 == 0);
  }
  for (std::size_t i = 0; i < 100; ++i) {
    note(known_large, large_object(300000 + i), 300000 + i, true);
  }
  std::printf("{");
  print(known_small, ", ");
  print(known_medium, ", ");
  print(known_large, "}\n");
#ifdef WITH_TCMALLOC
  std::string sample;
  MallocExtension::instance()->GetHeapSample(&sample);
  if (argc > 1) {
    std::FILE* file = std::fopen(argv[1], "w");
    std::fwrite(sample.data(), 1, sample.size(), file);
    std::fclose(file);
  }
#endif
  static_cast<void>(argc);
  static_cast<void>(argv);
  return 0;
}
