#include "batch.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "target.h"

namespace geiger::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

/// In memory that the processes share: what the next one has to know.
struct Shared {
  std::uint64_t next;  ///< The case that runs, or the end.
  double slowest;
  std::uint64_t slowest_number;
  std::uint64_t tallies[kTallies];
};

Shared& new_shared() {
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(memory != MAP_FAILED, "memory can be shared");
  return *new (memory) Shared{};
}

void arm(double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  const auto rest = static_cast<suseconds_t>((seconds - static_cast<double>(whole)) * 1e6);
  const itimerval once{{0, 0}, {whole, rest}};
  ::setitimer(ITIMER_PROF, &once, nullptr);
}

[[noreturn]] void run_until(std::uint64_t end, const CaseLimits& limits, Shared& shared,
                            const std::function<void(std::uint64_t, const Tally&)>& run) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit memory{limits.memory, limits.memory};
  ::setrlimit(RLIMIT_AS, &memory);
  const rlimit core{0, 0};
  ::setrlimit(RLIMIT_CORE, &core);
  const Tally tally(shared.tallies);
  for (; shared.next < end; ++shared.next) {
    arm(limits.seconds);
    const auto start = Clock::now();
    run(shared.next, tally);
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    if (took <= shared.slowest) continue;
    shared.slowest = took;
    shared.slowest_number = shared.next;
  }
  ::_exit(0);
}

std::string cause_of(int status) {
  if (WIFSIGNALED(status)) return std::string("signal: ") + ::strsignal(WTERMSIG(status));
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

BatchResult run_cases(std::uint64_t first, std::uint64_t count, const CaseLimits& limits,
                      const std::function<void(std::uint64_t, const Tally&)>& run) {
  Shared& shared = new_shared();
  shared.next = first;
  const std::uint64_t end = first + count;
  BatchResult result;
  while (shared.next < end) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    require(child >= 0, "a process can be started");
    if (child == 0) run_until(end, limits, shared, run);
    int status = 0;
    rusage used{};
    while (::wait4(child, &status, 0, &used) < 0 && errno == EINTR) continue;
    result.peak_memory = std::max(result.peak_memory, static_cast<Bytes>(used.ru_maxrss) * kKiB);
    if (shared.next < end) result.faults.push_back({shared.next++, cause_of(status)});
  }
  result.slowest = shared.slowest;
  result.slowest_number = shared.slowest_number;
  result.tallies.assign(shared.tallies, shared.tallies + kTallies);
  ::munmap(&shared, sizeof shared);
  return result;
}

}  // namespace geiger::fuzz
