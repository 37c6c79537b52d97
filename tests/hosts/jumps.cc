// Jumps out of the runtime from a signal handler, again and again, while it keeps so many
// blocks that the runtime is mostly found opening a segment. Then allocates on in peace.
// Prints the number of jumps.
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kBlocks = 20000;
constexpr int kJumps = 40;
constexpr long kMostRounds = 3000000;

std::uintptr_t runtime_start = 0;
std::uintptr_t runtime_end = 0;
sigjmp_buf escape;
volatile sig_atomic_t may_escape = 0;
volatile sig_atomic_t jumps = 0;

int find_runtime(dl_phdr_info* info, std::size_t, void*) {
  if (std::strstr(info->dlpi_name, "libgeiger-preload") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    runtime_start = info->dlpi_addr + segment.p_vaddr;
    runtime_end = runtime_start + segment.p_memsz;
  }
  return 1;
}

// Only where the runtime's own code was interrupted: the allocator's may hold its lock.
void on_signal(int, siginfo_t*, void* context) {
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const auto at = static_cast<std::uintptr_t>(registers.gregs[REG_RIP]);
#else
  const auto at = static_cast<std::uintptr_t>(registers.pc);
#endif
  if (may_escape == 0 || at < runtime_start || at >= runtime_end) return;
  may_escape = 0;
  jumps = jumps + 1;
  siglongjmp(escape, 1);
}

void set_timer(long microseconds) {
  const itimerval timer{{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

void* blocks[kBlocks];
long rounds;

// The place is empty while the allocator may be left inside a call.
void replace_one() {
  void*& place = blocks[rounds++ % kBlocks];
  void* block = place;
  place = nullptr;
  may_escape = 0;
  free(block);
  may_escape = 1;
  place = malloc(3001);
  may_escape = 0;
}

}  // namespace

int main() {
  dl_iterate_phdr(find_runtime, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGPROF, &action, nullptr);
  for (int i = 0; i < kBlocks; ++i) replace_one();
  set_timer(1000);
  sigsetjmp(escape, 1);  // Every jump comes back here.
  while (jumps < kJumps && rounds < kMostRounds) replace_one();
  set_timer(0);
  for (int i = 0; i < 4 * kBlocks; ++i) replace_one();
  std::printf("%d\n", static_cast<int>(jumps));
}
