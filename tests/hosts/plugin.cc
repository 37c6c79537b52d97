// A plugin that allocates and frees on behalf of its loader, and in its own
// constructor and destructor.
#include <cstddef>
#include <cstdlib>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace {

void* own = nullptr;
__attribute__((constructor)) void load() { own = malloc(1234); }
__attribute__((destructor)) void unload() { free(own); }

}  // namespace

extern "C" {
void* plugin_allocate(std::size_t size);
void plugin_release(void* pointer);

void* plugin_allocate(std::size_t size) {
  void* block = malloc(size);
  asm volatile("" : "+r"(block));  // no tail call: the plugin stays on the stack
  return block;
}
void plugin_release(void* pointer) {
  free(pointer);
  asm volatile("");
}

#ifdef __x86_64__
double plugin_sum(const double* values);
double plugin_wide(__m256d a, __m256d b, __m256d c, __m256d d, __m256d e, __m256d f, __m256d g,
                   __m256d h);

[[gnu::target("avx2"), gnu::noinline]] double plugin_wide(__m256d a, __m256d b, __m256d c,
                                                          __m256d d, __m256d e, __m256d f,
                                                          __m256d g, __m256d h) {
  const __m256d sum = a + b + c + d + e + f + g + h;
  return sum[0] + sum[1] + sum[2] + sum[3];
}
/// The first call goes through the loader's resolver, which must hand all 256 bits on.
[[gnu::target("avx2")]] double plugin_sum(const double* values) {
  const __m256d wide = _mm256_loadu_pd(values);
  return plugin_wide(wide, wide, wide, wide, wide, wide, wide, wide);
}
#endif
}
