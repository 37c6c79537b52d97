// 1,000 calls of each form of operator new and of each C entry point: whatever
// allocator stands behind, each call is one allocation.
//
//   news FORM
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "scenario.h"

namespace {

constexpr int kCount = 1000;
constexpr std::align_val_t kWide{64};

template <typename Body>
void repeat(Body body) {
  for (int i = 0; i < kCount; ++i) body(static_cast<std::size_t>(40 + i % 300));
}

constexpr Scenario kScenarios[] = {
    {"nothing", [] {}},
    {"new", [] { repeat([](std::size_t n) { ::operator delete(opaque(::operator new(n))); }); }},
    {"new_sized",
     [] { repeat([](std::size_t n) { ::operator delete(opaque(::operator new(n)), n); }); }},
    {"new_array",
     [] { repeat([](std::size_t n) { ::operator delete[](opaque(::operator new[](n))); }); }},
    {"new_nothrow",
     [] {
       repeat([](std::size_t n) { ::operator delete(opaque(::operator new(n, std::nothrow))); });
     }},
    {"new_array_nothrow",
     [] {
       repeat(
           [](std::size_t n) { ::operator delete[](opaque(::operator new[](n, std::nothrow))); });
     }},
    {"new_aligned",
     [] {
       repeat([](std::size_t n) { ::operator delete(opaque(::operator new(n, kWide)), kWide); });
     }},
    {"new_array_aligned",
     [] {
       repeat(
           [](std::size_t n) { ::operator delete[](opaque(::operator new[](n, kWide)), kWide); });
     }},
    {"new_aligned_nothrow",
     [] {
       repeat([](std::size_t n) {
         ::operator delete(opaque(::operator new(n, kWide, std::nothrow)), kWide);
       });
     }},
    {"malloc", [] { repeat([](std::size_t n) { free(opaque(malloc(n))); }); }},
    {"calloc", [] { repeat([](std::size_t n) { free(opaque(calloc(1, n))); }); }},
    {"realloc", [] { repeat([](std::size_t n) { free(opaque(realloc(nullptr, n))); }); }},
    {"reallocarray",
     [] { repeat([](std::size_t n) { free(opaque(reallocarray(nullptr, 1, n))); }); }},
    {"memalign", [] { repeat([](std::size_t n) { free(opaque(memalign(64, n))); }); }},
    {"aligned_alloc", [] { repeat([](std::size_t n) { free(opaque(aligned_alloc(64, n))); }); }},
    {"posix_memalign",
     [] {
       repeat([](std::size_t n) {
         void* out = nullptr;
         EXPECT(posix_memalign(&out, 64, n) == 0);
         free(out);
       });
     }},
    {"valloc", [] { repeat([](std::size_t n) { free(opaque(valloc(n))); }); }},
    {"pvalloc", [] { repeat([](std::size_t n) { free(opaque(pvalloc(n))); }); }},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(argc, argv, kScenarios); }
