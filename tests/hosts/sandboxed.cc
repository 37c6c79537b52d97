// Programs that, once started, allow themselves only the system calls they make bare.
// A call beyond those kills the process, so one of the runtime's would show.
#include <dlfcn.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>

#include "scenario.h"

namespace {

/// What malloc, printf and exit need bare.
constexpr std::uint32_t kPlain[] = {SYS_write,  SYS_brk,       SYS_mmap, SYS_munmap,
                                    SYS_mremap, SYS_futex,     SYS_exit, SYS_exit_group,
                                    SYS_fstat,  SYS_newfstatat};
/// And what pthread_create and the end of a thread need bare.
constexpr std::uint32_t kThreads[] = {
    SYS_clone,   SYS_clone3,       SYS_set_robust_list, SYS_rseq, SYS_rt_sigprocmask, SYS_mprotect,
    SYS_madvise, SYS_rt_sigaction, SYS_openat,          SYS_read, SYS_close};

struct Filter {
  sock_filter code[64];
  unsigned short length = 0;
  void add(sock_filter step) { code[length++] = step; }
  void allow(std::uint32_t call) {
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
};

/// What asks the kernel: prctl, or the same by syscall.
using Asks = long(int option, long a, long b, long c, long d);
long by_prctl(int option, long a, long b, long c, long d) { return prctl(option, a, b, c, d); }
long by_syscall(int option, long a, long b, long c, long d) {
  return syscall(SYS_prctl, option, a, b, c, d);
}

void restrict_to_plain(bool with_threads, std::uint32_t otherwise, Asks* asks = by_prctl) {
  Filter filter;
  filter.add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (const std::uint32_t call : kPlain) filter.allow(call);
  if (with_threads)
    for (const std::uint32_t call : kThreads) filter.allow(call);
  filter.add(BPF_STMT(BPF_RET | BPF_K, otherwise));
  const sock_fprog program{filter.length, filter.code};
  EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  EXPECT(asks(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, reinterpret_cast<long>(&program), 0, 0) == 0);
}

void allocate_much() {
  constexpr int kBlocks = 2000;
  static void* blocks[kBlocks];
  for (int round = 0; round < 10; ++round) {
    for (void*& block : blocks) block = opaque(malloc(600));
    for (void* block : blocks) free(block);
  }
}

/// All lines are out before the process ends: its exit status is what is compared.
void end() {
  std::printf("still here\n");
  std::fflush(stdout);
}

void kills() {
  restrict_to_plain(false, SECCOMP_RET_KILL_PROCESS);
  allocate_much();
  end();
}

void kills_by_syscall() {
  restrict_to_plain(false, SECCOMP_RET_KILL_PROCESS, by_syscall);
  allocate_much();
  end();
}

void refuses() {
  restrict_to_plain(false, SECCOMP_RET_ERRNO | 1);
  allocate_much();
  end();
}

void allocate_in_a_thread() {
  pthread_t thread;
  EXPECT(pthread_create(
             &thread, nullptr,
             [](void*) -> void* {
               for (int i = 0; i < 5; ++i) allocate_much();
               return nullptr;
             },
             nullptr) == 0);
  pthread_join(thread, nullptr);
}

void kills_with_threads() {
  restrict_to_plain(true, SECCOMP_RET_KILL_PROCESS);
  for (int i = 0; i < 10; ++i) allocate_in_a_thread();
  end();
}

void strict(bool by_prctl_number) {
  // read, write, exit and sigreturn are all that is left: the heap must be large before.
  for (int i = 0; i < 2; ++i) allocate_much();
  std::printf("strict from here\n");
  std::fflush(stdout);
  const long answer = by_prctl_number ? by_syscall(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0)
                                      : syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, nullptr);
  EXPECT(answer == 0);
  for (int i = 0; i < 20000; ++i) free(opaque(malloc(500)));
  constexpr char kText[] = "still here\n";
  (void)!write(1, kText, sizeof kText - 1);
  syscall(SYS_exit, 7);
}

void strict_by_seccomp() { strict(false); }
void strict_by_syscall() { strict(true); }

/// The vDSO's clock now faults, in children too.
void take_clock_away(Asks* asks) {
  EXPECT(asks(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0);
  allocate_much();
  const pid_t child = fork();
  if (child == 0) {
    allocate_much();
    _exit(3);
  }
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  std::printf("child: %x\n", static_cast<unsigned>(status));
  end();
}

void without_time_stamps() { take_clock_away(by_prctl); }
void without_time_stamps_by_syscall() { take_clock_away(by_syscall); }

/// The code of the C library, whose calls alone the kernel still serves.
int find_c_library(dl_phdr_info* module, std::size_t, void* found) {
  auto& range = *static_cast<ElfW(Addr)(*)[2]>(found);
  const auto wanted = reinterpret_cast<ElfW(Addr)>(dlsym(RTLD_NEXT, "write"));
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module->dlpi_phdr[i];
    const ElfW(Addr) begin = module->dlpi_addr + segment.p_vaddr;
    if (wanted < begin || wanted >= begin + segment.p_memsz) continue;
    range[0] = begin;
    range[1] = segment.p_memsz;
  }
  return 0;
}

void dispatch(Asks* asks) {
  static char selector = SYSCALL_DISPATCH_FILTER_BLOCK;
  ElfW(Addr) library[2]{};
  dl_iterate_phdr(find_c_library, &library);
  const long answer =
      asks(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, static_cast<long>(library[0]),
           static_cast<long>(library[1]), reinterpret_cast<long>(&selector));
  std::printf("dispatched: %ld\n", answer);  // Not by kernels before 5.11, nor on AArch64.
  for (int i = 0; i < 5; ++i) allocate_in_a_thread();
  allocate_much();
  end();
}

void dispatches() { dispatch(by_prctl); }
void dispatches_by_syscall() { dispatch(by_syscall); }

void refused_filter() {
  // The kernel turns it down, so nothing is restricted and nothing is given up.
  EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) != 0);
  EXPECT(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nullptr) == -1);
  for (int i = 0; i < 5; ++i) allocate_in_a_thread();
  end();
}

constexpr Scenario kScenarios[] = {
    {"kills", kills},
    {"kills_by_syscall", kills_by_syscall},
    {"refuses", refuses},
    {"kills_with_threads", kills_with_threads},
    {"strict", strict_by_seccomp},
    {"strict_by_syscall", strict_by_syscall},
    {"without_time_stamps", without_time_stamps},
    {"without_time_stamps_by_syscall", without_time_stamps_by_syscall},
    {"dispatches", dispatches},
    {"dispatches_by_syscall", dispatches_by_syscall},
    {"refused_filter", refused_filter},
};

}  // namespace

/// With a further argument it waits for the end of its input first.
int main(int argc, char** argv) {
  free(opaque(malloc(100)));
  if (argc > 2) {
    std::puts("ready");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
  }
  return run_scenario(argc, argv, kScenarios);
}
