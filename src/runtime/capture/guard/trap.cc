#include "runtime/capture/guard/trap.h"

#include <errno.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/raw_syscall.h"
#include "runtime/capture/guard/reporting.h"
#include "runtime/capture/image/image.h"

namespace geiger::capture {
namespace {

enum class Trap : std::uint32_t { kUnset = 0, kSetting, kSet, kGivenUp };
constinit std::atomic<Trap> trap{Trap::kUnset};

constinit SetAction set_action = nullptr;

constinit std::uint64_t freeing_functions[2]{};

/// Whether `ip` is within the first bytes of one, which read the memory before the block.
bool is_in_freeing_function(std::uint64_t ip) {
  constexpr std::uint64_t kLookBytes = 256;
  return ip - freeing_functions[0] < kLookBytes || ip - freeing_functions[1] < kLookBytes;
}

/// The program's actions; each new one gets the next place. So a handler reads a consistent one,
/// unless kPlaces actions are set meanwhile.
constexpr std::size_t kPlaces = 16;
constinit struct sigaction actions[kPlaces] {};
constinit std::atomic<std::size_t> last_place{0};
constinit std::atomic<std::size_t> current_place{0};

void keep_action(const struct sigaction& action) {
  const std::size_t place = (last_place.fetch_add(1, std::memory_order_relaxed) + 1) % kPlaces;
  actions[place] = action;
  current_place.store(place, std::memory_order_release);
}

const struct sigaction& action_of_program() {
  return actions[current_place.load(std::memory_order_acquire)];
}

bool is_ignoring(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
}
bool is_default(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

void put_in_force(const struct sigaction& action) { set_action(SIGSEGV, &action, nullptr); }

#if defined(__x86_64__)
unwind::Registers registers_of(const ucontext_t& context) {
  const auto& registers = context.uc_mcontext.gregs;
  // + 1, as for a return address (unwind::Trace).
  return {static_cast<std::uint64_t>(registers[REG_RIP]) + 1,
          static_cast<std::uint64_t>(registers[REG_RSP]),
          static_cast<std::uint64_t>(registers[REG_RBP])};
}
vocabulary::Access access_of(const ucontext_t& context) {
  constexpr greg_t kWrites = 2;  // A bit of the page fault's error code.
  return (context.uc_mcontext.gregs[REG_ERR] & kWrites) != 0 ? vocabulary::Access::kWrite
                                                             : vocabulary::Access::kRead;
}
#elif defined(__aarch64__)
unwind::Registers registers_of(const ucontext_t& context) {
  constexpr std::size_t kFramePointer = 29;
  return {context.uc_mcontext.pc + 1, context.uc_mcontext.sp,
          context.uc_mcontext.regs[kFramePointer]};
}
/// The kernel reports the access in a record that emulators omit.
vocabulary::Access access_of(const ucontext_t& /*context*/) { return vocabulary::Access::kUnknown; }
#else
#error "where does the kernel put the registers here?"
#endif

/// Sends a signal again that no instruction caused: it arrives when the handler returns.
void send_again(int signal, const siginfo_t& info) {
  const long pid = base::raw_syscall(SYS_getpid);
  const long tid = base::raw_syscall(SYS_gettid);
  const long sent =
      base::raw_syscall(SYS_rt_tgsigqueueinfo, pid, tid, signal, reinterpret_cast<long>(&info));
  if (base::is_error(sent)) base::raw_syscall(SYS_tgkill, pid, tid, signal);
}

void pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction action = action_of_program();
  if (is_default(action) || is_ignoring(action)) {
    give_up_trap();
    if (info->si_code <= 0) send_again(signal, *info);
    return;
  }
  if ((action.sa_flags & SA_RESETHAND) != 0) {
    trap.store(Trap::kGivenUp, std::memory_order_relaxed);
    struct sigaction reset {};
    reset.sa_handler = SIG_DFL;
    put_in_force(reset);
  }
  // Without SA_SIGINFO the handler uses only the first argument.
  action.sa_sigaction(signal, info, context);
}

/// Set by the thread whose trap is reported; other threads trap repeatedly until its report is
/// done.
constinit std::atomic<bool> is_reported{false};

void handle(int signal, siginfo_t* info, void* context) {
  const int before = errno;
  const auto address = reinterpret_cast<Address>(info->si_addr);
  if (info->si_code <= 0 || !guard::owns(info->si_addr)) {
    errno = before;
    return pass_on(signal, info, context);
  }
  if (!is_reported.exchange(true, std::memory_order_relaxed)) {
    const auto& interrupted = *static_cast<const ucontext_t*>(context);
    const unwind::Registers at = registers_of(interrupted);
    Fault fault = trapped_at(address, access_of(interrupted));
    if (is_in_freeing_function(at.ip)) {
      fault.kind = trace::FaultKind::kBypassingFree;
      fault.access = vocabulary::Access::kFree;
    }
    report(fault, at);
    give_up_trap();
  }
  errno = before;
}

/// Our action, with the flags and mask of the program's.
struct sigaction ours_over(const struct sigaction& program) {
  struct sigaction ours = program;
  ours.sa_sigaction = handle;
  ours.sa_flags = (program.sa_flags & ~SA_RESETHAND) | SA_SIGINFO;
  if (is_default(program)) ours.sa_flags |= SA_ONSTACK;
  return ours;
}

/// Whether this is a child of vfork: it has its own actions, but shares its parent's memory.
bool is_in_vfork() {
  return is_own_process->load(std::memory_order_relaxed) != 0 &&
         current_segment().writer.header()->pid !=
             static_cast<std::uint32_t>(base::raw_syscall(SYS_getpid));
}

/// A child of vfork soon calls exec: its actions take effect at once, and only in the child.
void act_for_child(const struct sigaction* wanted, struct sigaction* before) {
  struct sigaction action {};
  set_action(SIGSEGV, wanted, &action);
  if ((action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == handle) {
    action = action_of_program();
  }
  if (before != nullptr) *before = action;
}

}  // namespace

void set_signal_function(SetAction function) { set_action = function; }

void set_freeing_functions(const void* free, const void* realloc) {
  freeing_functions[0] = reinterpret_cast<std::uint64_t>(free);
  freeing_functions[1] = reinterpret_cast<std::uint64_t>(realloc);
}

bool is_trap_set() { return trap.load(std::memory_order_acquire) == Trap::kSet; }

bool is_trap_given_up() { return trap.load(std::memory_order_acquire) == Trap::kGivenUp; }

bool set_trap() {
  Trap seen = trap.load(std::memory_order_acquire);
  if (seen == Trap::kSet) return true;
  if (set_action == nullptr || seen != Trap::kUnset ||
      !trap.compare_exchange_strong(seen, Trap::kSetting, std::memory_order_acq_rel)) {
    return false;
  }
  struct sigaction program {};
  const bool is_known = set_action(SIGSEGV, nullptr, &program) == 0;
  if (!is_known || is_ignoring(program)) {
    trap.store(Trap::kUnset, std::memory_order_release);
    return false;
  }
  keep_action(program);
  put_in_force(ours_over(program));
  trap.store(Trap::kSet, std::memory_order_release);
  return true;
}

void give_up_trap() {
  if (trap.exchange(Trap::kGivenUp, std::memory_order_acq_rel) == Trap::kSet) {
    put_in_force(action_of_program());
  }
}

void act_for_program(const struct sigaction* wanted, struct sigaction* before) {
  if (is_in_vfork()) return act_for_child(wanted, before);
  const struct sigaction action = action_of_program();
  if (wanted != nullptr) {
    keep_action(*wanted);
    if (is_ignoring(*wanted)) {
      trap.store(Trap::kUnset, std::memory_order_release);
      put_in_force(*wanted);
    } else {
      put_in_force(ours_over(*wanted));
    }
  }
  if (before != nullptr) *before = action;
}

}  // namespace geiger::capture
