// Blocks that only frames of functions hold, in threads that wait below them. Each is allocated in
// a function that says how: see tests/holders.py. Says "ready", and waits to be killed.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kBlocks = 50;
std::atomic<int> g_started{0};
std::atomic<bool> g_ends{false};

template <class T>
T* opaque(T* pointer) {
  asm volatile("" : "+r"(pointer)::"memory");
  return pointer;
}

__attribute__((noinline)) void wipe_stack() {
  volatile char bytes[65536];
  for (volatile char& byte : bytes) byte = 0;
}

#define KIND(name) \
  __attribute__((noinline, no_icf)) void* name() { return opaque(std::malloc(48)); }
KIND(by_frame)
KIND(by_frame_of_caller)
KIND(by_saved_register)
KIND(by_frame_with_pointer)
KIND(by_frame_without_rules)
KIND(by_running_frame)

__attribute__((noinline)) void wait_here() {
  wipe_stack();
  ++g_started;
  while (!g_ends) pause();
}

#define FILL(allocate)              \
  void* volatile pointers[kBlocks]; \
  for (void* volatile& pointer : pointers) pointer = allocate()

__attribute__((noinline)) void hold_in_frame() {
  FILL(by_frame);
  wait_here();
  std::free(pointers[0]);
}

__attribute__((noinline)) void hold_in_caller() {
  FILL(by_frame_of_caller);
  hold_in_frame();
  std::free(pointers[0]);
}

/// Uses the register that its caller keeps a pointer in, and so saves it in its own frame.
__attribute__((noinline)) void save_register() {
#if defined(__x86_64__)
  asm volatile("xor %%ebx, %%ebx" ::: "rbx");
#else
  asm volatile("mov x19, 0" ::: "x19");
#endif
  wait_here();
  asm volatile("" ::: "memory");
}

__attribute__((noinline)) void hold_in_register() {
#if defined(__x86_64__)
  register void* held asm("rbx") = by_saved_register();
#else
  register void* held asm("x19") = by_saved_register();
#endif
  asm volatile("" : "+r"(held));
  save_register();
  asm volatile("" : "+r"(held));
  std::free(held);
}

#if defined(__GNUC__) && !defined(__clang__)
#define FRAME_POINTER __attribute__((noinline, optimize("no-omit-frame-pointer")))
#else
#define FRAME_POINTER __attribute__((noinline))
#endif

FRAME_POINTER void hold_with_pointer() {
  FILL(by_frame_with_pointer);
  wait_here();
  std::free(pointers[0]);
}

// Nothing says how its caller is found.
#if defined(__x86_64__)
asm(R"(
  .text
  .type call_without_rules, @function
call_without_rules:
  sub $8, %rsp
  call *%rdi
  add $8, %rsp
  ret
  .size call_without_rules, . - call_without_rules
)");
#else
asm(R"(
  .text
  .type call_without_rules, %function
call_without_rules:
  stp x29, x30, [sp, -16]!
  blr x0
  ldp x29, x30, [sp], 16
  ret
  .size call_without_rules, . - call_without_rules
)");
#endif
extern "C" void call_without_rules(void (*)());

__attribute__((noinline)) void hold_without_rules() {
  FILL(by_frame_without_rules);
  call_without_rules(wait_here);
  std::free(pointers[0]);
}

__attribute__((noinline)) void hold_and_run() {
  FILL(by_running_frame);
  wipe_stack();
  ++g_started;
  while (!g_ends) continue;
  std::free(pointers[0]);
}

struct Kind {
  const char* name;
  void (*hold)();
};
constexpr Kind kKinds[] = {{"waiting", hold_in_caller},
                           {"register", hold_in_register},
                           {"pointer", hold_with_pointer},
                           {"no-rules", hold_without_rules},
                           {"running", hold_and_run}};

void* run(void* given) {
  const auto& kind = *static_cast<const Kind*>(given);
  pthread_setname_np(pthread_self(), kind.name);
  kind.hold();
  return nullptr;
}

}  // namespace

int main() {
  int threads = 0;
  for (const Kind& kind : kKinds) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, run, const_cast<Kind*>(&kind)) != 0) return 1;
    ++threads;
  }
  while (g_started < threads) usleep(1000);
  std::puts("ready");
  std::fflush(stdout);
  for (;;) pause();
}
