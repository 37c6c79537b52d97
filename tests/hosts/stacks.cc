// Stacks that end, stacks that are very deep, and code that only its maker can unwind.
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "scenario.h"

extern "C" void __register_frame(void*);    // NOLINT: libgcc's names.
extern "C" void __deregister_frame(void*);  // NOLINT

namespace {

/// Runs on a thread whose stack has `bytes` bytes.
void run_on_stack(std::size_t bytes, void* (*body)(void*)) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  EXPECT(pthread_attr_setstacksize(&attributes, bytes) == 0);
  pthread_t thread;
  EXPECT(pthread_create(&thread, &attributes, body, nullptr) == 0);
  pthread_join(thread, nullptr);
}

[[gnu::noinline]] std::size_t recurses(std::size_t depth) {
  volatile char frame[64];
  frame[0] = static_cast<char>(depth);
  void* block = opaque(malloc(100));
  const std::size_t below = depth == 0 ? 0 : recurses(depth - 1);
  free(block);
  return below + (frame[0] == static_cast<char>(depth) ? 1 : 0);
}

void hundred_thousand_deep() {
  run_on_stack(std::size_t{64} << 20, [](void*) -> void* {
    std::printf("depth %zu\n", recurses(99'999));
    return nullptr;
  });
}

sigjmp_buf after_overflow;
alignas(16) char alternate[64 << 10];

void on_overflow(int) { siglongjmp(after_overflow, 1); }

// One block that this thread keeps giving back: glibc serves it without a lock, so
// the overflow may strike anywhere and bare glibc stays whole.
// NOLINTNEXTLINE(misc-no-recursion): what overflows
[[gnu::noinline]] int overflows(int depth) {
  volatile char frame[200];
  frame[0] = static_cast<char>(depth);
  free(opaque(malloc(24)));
  if (*opaque(&depth) < 0) return 0;  // never: but the compiler may not know
  return overflows(depth + 1) + frame[0];
}

void* overflow_body(void*) {
  stack_t stack = {};
  stack.ss_sp = alternate;
  stack.ss_size = sizeof alternate;
  EXPECT(sigaltstack(&stack, nullptr) == 0);
  free(opaque(malloc(24)));
  static volatile int caught;  // volatile, static: survives the jumps
  for (caught = 0; caught < 20;) {
    if (sigsetjmp(after_overflow, 1) == 0) overflows(0);
    caught = caught + 1;
    free(opaque(malloc(3000)));
  }
  std::printf("caught %d\n", caught);
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  return nullptr;
}

void overflow() {
  struct sigaction action = {};
  action.sa_handler = on_overflow;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  run_on_stack(128 << 10, overflow_body);
}

void smallest_stacks() {
  for (int i = 0; i < 50; ++i)
    run_on_stack(16384, [](void*) -> void* {
      for (int round = 0; round < 500; ++round) free(opaque(malloc(700)));
      return nullptr;
    });
}

/// A page of code whose unwind rules only __register_frame knows.
struct Generated {
  // sub rsp, 8; mov rax, rdi; mov rdi, rsi; call rax; add rsp, 8; ret
  static constexpr unsigned char kCode[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0x89, 0xf8, 0x48, 0x89,
                                            0xf7, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
  static constexpr std::size_t kRules = 1024;  // behind the code
  static constexpr std::size_t kBytes = 4096;
  unsigned char* page;

  template <typename Value>
  static unsigned char* put(unsigned char* at, Value value) {
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
  }
  /// A CIE (CFA = rsp + 8) and an FDE (16 more behind the first instruction).
  void write_rules() {
    static constexpr unsigned char kCie[] = {1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0};
    unsigned char* cie = page + kRules;
    unsigned char* at = put(cie, static_cast<std::uint32_t>(4 + sizeof kCie));
    at = put(at, std::uint32_t{0});
    memcpy(at, kCie, sizeof kCie);
    at += sizeof kCie;
    static constexpr unsigned char kRows[] = {0x44, 0x0e, 16, 0x4c, 0x0e, 8, 0, 0};
    at = put(at, static_cast<std::uint32_t>(4 + 16 + sizeof kRows));
    at = put(at, static_cast<std::uint32_t>(at - cie));
    at = put(at, reinterpret_cast<std::uintptr_t>(page));
    at = put(at, std::uintptr_t{sizeof kCode});
    memcpy(at, kRows, sizeof kRows);
    put(at + sizeof kRows, std::uint32_t{0});
  }
  Generated() {
    page = static_cast<unsigned char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    memcpy(page, kCode, sizeof kCode);
    write_rules();
    EXPECT(mprotect(page, kBytes, PROT_READ | PROT_EXEC) == 0);
    __register_frame(page + kRules);
  }
  Generated(const Generated&) = delete;
  Generated& operator=(const Generated&) = delete;
  ~Generated() {
    __deregister_frame(page + kRules);
    munmap(page, kBytes);
  }
  void call(void (*function)(std::size_t), std::size_t argument) const {
    reinterpret_cast<void (*)(void (*)(std::size_t), std::size_t)>(page)(function, argument);
  }
};

void allocates_or_throws(std::size_t round) {
  free(opaque(malloc(900)));
  if (round % 2 == 1) throw std::runtime_error("through generated code");
}

void registered_frames() {
  std::atomic<bool> is_over{false};
  std::thread other([&is_over] {
    while (!is_over) free(opaque(malloc(700)));
  });
  int caught = 0;
  for (int round = 0; round < 50; ++round) {
    const Generated code;
    for (std::size_t i = 0; i < 40; ++i) {
      try {
        code.call(allocates_or_throws, i);
      } catch (const std::runtime_error&) {
        ++caught;
      }
    }
  }
  is_over = true;
  other.join();
  std::printf("caught %d\n", caught);
}

constexpr Scenario kScenarios[] = {
    {"hundred_thousand_deep", hundred_thousand_deep},
    {"overflow", overflow},
    {"smallest_stacks", smallest_stacks},
    {"registered_frames", registered_frames},
};

}  // namespace

int main(int argc, char** argv) { return run_scenario(argc, argv, kScenarios); }
