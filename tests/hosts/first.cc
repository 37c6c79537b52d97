// The very first operation of a process, and of a thread, is each entry point in
// turn. It runs from the executable's preinit array: before every constructor,
// also before those of preloaded libraries.
#include <malloc.h>
#include <pthread.h>

#include <cstdlib>
#include <new>

#include "scenario.h"

namespace {

void* kept = nullptr;

constexpr Scenario kScenarios[] = {
    {"free_null", [] { free(opaque(static_cast<void*>(nullptr))); }},
    {"malloc_zero", [] { kept = opaque(malloc(0)); }},
    {"malloc", [] { kept = opaque(malloc(10)); }},
    {"calloc", [] { kept = opaque(calloc(2, 10)); }},
    {"realloc", [] { kept = opaque(realloc(nullptr, 10)); }},
    {"reallocarray", [] { kept = opaque(reallocarray(nullptr, 2, 10)); }},
    {"memalign", [] { kept = opaque(memalign(64, 10)); }},
    {"posix_memalign", [] { EXPECT(posix_memalign(&kept, 64, 10) == 0); }},
    {"aligned_alloc", [] { kept = opaque(aligned_alloc(64, 64)); }},
    {"valloc", [] { kept = opaque(valloc(10)); }},
    {"pvalloc", [] { kept = opaque(pvalloc(10)); }},
    {"new", [] { kept = opaque(::operator new(10)); }},
    {"new_zero", [] { kept = opaque(::operator new(0)); }},
    {"new_array", [] { kept = opaque(::operator new[](10)); }},
    {"new_nothrow", [] { kept = opaque(::operator new(10, std::nothrow)); }},
    {"new_aligned", [] { kept = opaque(::operator new (10, std::align_val_t{64})); }},
    {"delete_null", [] { ::operator delete(opaque(static_cast<void*>(nullptr))); }},
    {"delete_sized_null", [] { ::operator delete(opaque(static_cast<void*>(nullptr)), 8); }},
};

void run_first(const char* name) {
  for (const Scenario& scenario : kScenarios)
    if (strcmp(name, scenario.name) == 0) scenario.run();
}

void before_everything(int argc, char** argv, char**) {
  if (argc > 1) run_first(argv[1]);
}
__attribute__((section(".preinit_array"), used)) void (*const preinit)(int, char**,
                                                                       char**) = before_everything;

void* in_thread(void* name) {
  run_first(static_cast<const char*>(name));
  free(kept);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  // What was given out before every constructor can be asked about, and grow.
  if (kept != nullptr) EXPECT(malloc_usable_size(kept) > 0);
  if (argc > 1 && strncmp(argv[1], "new", 3) != 0) kept = opaque(realloc(kept, 5000));
  free(kept);
  kept = nullptr;
  if (argc > 1 && strcmp(argv[1], "list") != 0) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, nullptr, in_thread, argv[1]) == 0);
    pthread_join(thread, nullptr);
  }
  return run_scenario(argc, argv, kScenarios);
}
