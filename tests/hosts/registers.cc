// What a call of the allocator must leave alone: callee-saved registers, the floating
// point modes, the direction flag; and vector arguments of a function whose first call
// goes through the loader's resolver.
#include <dlfcn.h>
#include <immintrin.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "scenario.h"

namespace {

struct Saved {
  std::uint64_t rbx, rbp, r12, r13, r14, r15, flags;
};

/// Calls function(argument) with patterns in the registers that it must keep.
[[gnu::noinline]] void* call_with_patterns(void* (*function)(std::size_t), std::size_t argument,
                                           Saved& after) {
  void* result = nullptr;
  asm volatile(
      "lea -128(%%rsp), %%rsp\n"  // what the compiler may keep below the stack pointer
      "push %%rbx\n push %%rbp\n push %%r12\n push %%r13\n push %%r14\n push %%r15\n"
      "push %[after]\n mov %%rsp, %%rbx\n and $-16, %%rsp\n push %%rbx\n sub $8, %%rsp\n"
      "mov $0x1111, %%rbx\n mov $0x2222, %%rbp\n mov $0x3333, %%r12\n mov $0x4444, %%r13\n"
      "mov $0x5555, %%r14\n mov $0x6666, %%r15\n"
      "call *%%rax\n"
      "mov 8(%%rsp), %%rcx\n mov (%%rcx), %%rcx\n"
      "mov %%rbx, (%%rcx)\n mov %%rbp, 8(%%rcx)\n mov %%r12, 16(%%rcx)\n mov %%r13, 24(%%rcx)\n"
      "mov %%r14, 32(%%rcx)\n mov %%r15, 40(%%rcx)\n"
      "pushfq\n pop 48(%%rcx)\n"
      "mov 8(%%rsp), %%rsp\n pop %%rcx\n"
      "pop %%r15\n pop %%r14\n pop %%r13\n pop %%r12\n pop %%rbp\n pop %%rbx\n"
      "lea 128(%%rsp), %%rsp\n"
      : "=a"(result), "+D"(argument)
      : "a"(function), [after] "r"(&after)
      : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
  return result;
}

void* free_it(std::size_t address) {
  free(reinterpret_cast<void*>(address));
  return nullptr;
}

void expect_patterns(const Saved& saved) {
  EXPECT(saved.rbx == 0x1111 && saved.rbp == 0x2222 && saved.r12 == 0x3333);
  EXPECT(saved.r13 == 0x4444 && saved.r14 == 0x5555 && saved.r15 == 0x6666);
  EXPECT((saved.flags & 0x400) == 0);  // direction
}

void callee_saved() {
  for (int round = 0; round < 2000; ++round) {
    Saved saved{};
    void* block = call_with_patterns(malloc, 700, saved);
    expect_patterns(saved);
    call_with_patterns(free_it, reinterpret_cast<std::size_t>(block), saved);
    expect_patterns(saved);
  }
}

void floating_point_modes() {
  const unsigned before = _mm_getcsr();
  const unsigned odd = (before & ~0x6000U) | 0x4000U | 0x8000U;  // round up, flush to zero
  std::uint16_t control = 0x0c7f;                                // x87: truncate, double
  std::uint16_t after = 0;
  asm volatile("fldcw %0" : : "m"(control));
  _mm_setcsr(odd);
  for (int round = 0; round < 2000; ++round) {
    free(opaque(malloc(700)));
    EXPECT((_mm_getcsr() & ~0x3fU) == (odd & ~0x3fU));
  }
  asm volatile("fnstcw %0" : "=m"(after));
  _mm_setcsr(before);
  std::printf("x87 control %x\n", after);
}

using Sum = double (*)(const double*);

void lazy_vector_call() {
  if (!__builtin_cpu_supports("avx2")) return;
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length] = '\0';
  const std::string self = path;
  const std::string library = self.substr(0, self.rfind('/')) + "/libplugin.so";
  for (int round = 0; round < 50; ++round) {
    void* handle = dlopen(library.c_str(), RTLD_LAZY);
    EXPECT(handle != nullptr);
    auto sum = reinterpret_cast<Sum>(dlsym(handle, "plugin_sum"));
    const double values[4] = {1, 20, 300, 4000};
    EXPECT(sum(values) == 8 * 4321.0);
    dlclose(handle);
  }
}

constexpr Scenario kScenarios[] = {
    {"callee_saved", callee_saved},
    {"floating_point_modes", floating_point_modes},
    {"lazy_vector_call", lazy_vector_call},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(argc, argv, kScenarios); }
