#include "inject/borrowed_thread.h"

#include <elf.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <utility>

#include "inject/machine.h"

namespace geiger::inject {
namespace {

using std::chrono::milliseconds;

constexpr Address kStackBytes = Address{256} << 10;
constexpr Address kGuardBytes = Address{64} << 10;  ///< The largest page size.
constexpr Address kTextBytes = 8192;                ///< At the stack's far end.
constexpr std::size_t kPieceBytes = std::size_t{128} << 10;
constexpr std::size_t kMostExtended = std::size_t{32} << 10;
constexpr milliseconds kLongestStop{2000};
constexpr milliseconds kLongestCall{3000};

constexpr std::uint64_t bit(int signal) { return std::uint64_t{1} << (signal - 1); }
/// Raised by the thread itself; if they were blocked, the kernel would reset their handlers.
constexpr std::uint64_t kFaults =
    bit(SIGSEGV) | bit(SIGBUS) | bit(SIGILL) | bit(SIGFPE) | bit(SIGTRAP) | bit(SIGSYS);

bool is_event_stop(int status) { return status >> 16 == PTRACE_EVENT_STOP; }
bool is_clone(int status) { return status >> 16 == PTRACE_EVENT_CLONE; }

pid_t cloned_by(pid_t tid) {
  unsigned long pid = 0;
  return ptrace(PTRACE_GETEVENTMSG, tid, nullptr, &pid) == 0 ? static_cast<pid_t>(pid) : 0;
}

bool set_options(pid_t tid, long options) {
  return ptrace(PTRACE_SETOPTIONS, tid, nullptr, reinterpret_cast<void*>(options)) == 0;
}

/// A hexadecimal mask in the status file, such as "SigIgn:\t0000000000001000".
std::uint64_t status_mask(pid_t pid, pid_t tid, const std::string& key) {
  std::ifstream in(fmt::format("/proc/{}/task/{}/status", pid, tid));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1), nullptr, 16);
  }
  return 0;
}

/// None if the thread runs.
WaitingCall waiting_call(pid_t pid, pid_t tid) {
  std::ifstream in(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
  WaitingCall call;
  if (!(in >> call.number) || call.number < 0) return {};
  in >> std::hex;
  for (std::uint64_t& argument : call.arguments) in >> argument;
  return in >> call.sp >> call.pc ? call : WaitingCall{};
}

}  // namespace

// SIGCHLD is ignored by default, but wakes sigtimedwait while it is blocked.
int BorrowedThread::wait_for_stop(pid_t tid, Clock::time_point deadline, int& status) {
  sigset_t child;
  sigset_t before;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &child, &before);
  int result = ETIMEDOUT;
  do {
    const pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
    if (got == tid) result = WIFSTOPPED(status) ? 0 : ESRCH;
    if (got < 0 && errno != EINTR) result = errno == ECHILD ? ESRCH : errno;
    if (result != ETIMEDOUT) break;
    constexpr timespec kStep{0, 20'000'000};
    sigtimedwait(&child, nullptr, &kStep);
  } while (Clock::now() < deadline);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result;
}

bool BorrowedThread::resume(int request, int signal) const {
  return ptrace(static_cast<__ptrace_request>(request), tid_, nullptr,
                reinterpret_cast<void*>(static_cast<long>(signal))) == 0;
}

int BorrowedThread::seize() {
  if (ptrace(PTRACE_SEIZE, tid_, nullptr, reinterpret_cast<void*>(PTRACE_O_TRACESYSGOOD)) != 0) {
    return errno;
  }
  is_seized_ = true;
  before_ = waiting_call(pid_, tid_);
  if (ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr) != 0) {
    is_lost_ = true;
    return errno;
  }
  const auto deadline = Clock::now() + kLongestStop;
  int status = 0;
  while (true) {
    if (const int error = wait_for_stop(deadline, status); error != 0) {
      is_lost_ = true;
      return error;
    }
    if (is_event_stop(status)) break;
    // A signal came first: deliver it, and the stop follows.
    if (!resume(PTRACE_CONT, WSTOPSIG(status))) return errno;
  }
  stopped_ = Clock::now();
  return machine::get(tid_, saved_) ? 0 : errno;
}

bool BorrowedThread::is_in_sequence() const {
#ifdef PTRACE_GET_RSEQ_CONFIGURATION
  struct __ptrace_rseq_configuration configuration {};
  const long got = ptrace(static_cast<__ptrace_request>(PTRACE_GET_RSEQ_CONFIGURATION), tid_,
                          reinterpret_cast<void*>(sizeof configuration), &configuration);
  if (got < 0 || configuration.rseq_abi_pointer == 0) return false;
  constexpr Address kDescriptorOffset = 8;  // struct rseq: cpu ids, then rseq_cs.
  const auto at = memory_.get<Address>(configuration.rseq_abi_pointer + kDescriptorOffset);
  struct Sequence {
    std::uint32_t version, flags;
    std::uint64_t start, bytes, abort;
  };
  if (!at || *at == 0) return false;
  const auto sequence = memory_.get<Sequence>(*at);
  return sequence && machine::pc(saved_) - sequence->start < sequence->bytes;
#else
  return false;
#endif
}

bool BorrowedThread::set_registers(const user_regs_struct& registers) const {
  return machine::set(tid_, registers);
}

// If the fault is ignored, the kernel resets its action before it stops the thread for us.
void BorrowedThread::save_fault_action() {
  if ((status_mask(pid_, tid_, "SigIgn") & bit(SIGSEGV)) == 0) return;
  const auto got = system_call_by_stops(SYS_rt_sigaction, {SIGSEGV, 0, text_at_, 8});
  restores_action_ = got == 0 && memory_.read(text_at_, &fault_action_, sizeof fault_action_);
}

base::Outcome<void> BorrowedThread::make_stack() {
  const auto stack = system_call_by_stops(
      SYS_mmap, {0, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, static_cast<Address>(-1), 0});
  if (!stack) return base::Failure{"the thread ended in the meantime"};
  if (*stack < 0 && *stack > -4096) {
    return base::Failure{
        fmt::format("no memory for a stack: {}", std::strerror(static_cast<int>(-*stack)))};
  }
  stack_ = static_cast<Address>(*stack);
  text_at_ = stack_ + kGuardBytes;
  save_fault_action();
  if (system_call(SYS_mprotect, {stack_, kGuardBytes, PROT_NONE}) != 0) {
    return base::Failure{"no guard page"};
  }
  errno_at_ = GEIGER_TRY(call(places_.errno_location, {}));
  if (!memory_.read(errno_at_, &errno_, sizeof errno_)) {
    return base::Failure{"errno cannot be read"};
  }
  return {};
}

bool BorrowedThread::save_extended() {
  for (const int kind : machine::kExtended) {
    extended_.resize(kMostExtended);
    iovec area{extended_.data(), extended_.size()};
    if (ptrace(PTRACE_GETREGSET, tid_, reinterpret_cast<void*>(kind), &area) != 0) continue;
    extended_kind_ = kind;
    extended_.resize(area.iov_len);
    return true;
  }
  return false;
}

bool BorrowedThread::set_mask(std::uint64_t mask) const {
  return ptrace(PTRACE_SETSIGMASK, tid_, reinterpret_cast<void*>(sizeof mask), &mask) == 0;
}

base::Outcome<void> BorrowedThread::borrow(const CallPlaces& places, Address stack) {
  places_ = places;
  if (!save_extended()) {
    return base::Failure{fmt::format("its registers cannot be read: {}", std::strerror(errno))};
  }
  if (ptrace(PTRACE_GETSIGMASK, tid_, reinterpret_cast<void*>(sizeof mask_), &mask_) != 0 ||
      !set_mask(~kFaults)) {
    return base::Failure{fmt::format("its signals cannot be blocked: {}", std::strerror(errno))};
  }
  is_borrowed_ = true;
  if (stack == 0) return make_stack();
  keeps_stack_ = true;
  stack_ = stack;
  text_at_ = stack_ + kGuardBytes;
  save_fault_action();
  return {};
}

Address BorrowedThread::keep_stack() {
  keeps_stack_ = true;
  return stack_;
}

bool BorrowedThread::took_signal(int signal) {
  siginfo_t info{};
  const bool is_fault = signal < 64 && (kFaults & bit(signal)) != 0 &&
                        ptrace(PTRACE_GETSIGINFO, tid_, nullptr, &info) == 0 && info.si_code > 0;
  if (is_fault) return false;
  kept_signals_.push_back(signal);
  return true;
}

// The call may wait for a lock that another thread holds for long, perhaps while that waits for
// this thread. As long as this thread holds no lock, the call can be abandoned.
bool BorrowedThread::can_abandon(int request) {
  int status = 0;
  if (ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr) != 0 ||
      wait_for_stop(Clock::now() + kLongestStop, status) != 0) {
    return false;
  }
  user_regs_struct now{};
  std::vector<std::uint32_t> words((places_.loader_end - places_.loader_begin) / 4);
  const bool waits = machine::get(tid_, now) && machine::interrupted_call(now) == SYS_futex &&
                     machine::first_argument(now) >= places_.loader_begin &&
                     machine::first_argument(now) < places_.loader_end;
  const bool is_read = memory_.read(places_.loader_begin, words.data(), words.size() * 4);
  const auto owner = static_cast<std::uint32_t>(tid_);
  const bool holds = std::find(words.begin(), words.end(), owner) != words.end();
  if (waits && is_read && !holds) return true;
  static_cast<void>(resume(request));
  return false;
}

BorrowedThread::Stop BorrowedThread::run_until(Stop wanted) {
  const int request = wanted == Stop::kSystemCall ? PTRACE_SYSCALL : PTRACE_CONT;
  if (!resume(request)) return Stop::kLost;
  auto deadline = Clock::now() + kLongestCall;
  while (true) {
    int status = 0;
    const int error = wait_for_stop(deadline, status);
    if (error == ETIMEDOUT) {
      if (can_abandon(request)) return Stop::kTooLong;
      deadline = Clock::now() + kLongestCall;
      continue;
    }
    if (error != 0) return Stop::kLost;
    if (is_clone(status)) {
      cloned_ = cloned_by(tid_);
      if (!resume(request)) return Stop::kLost;
      continue;
    }
    const int signal = WSTOPSIG(status);
    if (signal == (SIGTRAP | 0x80) && wanted == Stop::kSystemCall) return Stop::kSystemCall;
    if (!is_event_stop(status) && signal != (SIGTRAP | 0x80) && !took_signal(signal)) {
      user_regs_struct now{};
      const bool is_read = machine::get(tid_, now);
      return is_read && signal == SIGSEGV && machine::pc(now) == 0 ? Stop::kReturned : Stop::kFault;
    }
    if (!resume(request)) return Stop::kLost;
  }
}

// A file in memory has a path only in /proc, which a process in a jail does not see. What is
// stopped is this thread alone, at the end of its own system call.
BorrowedThread::Stop BorrowedThread::run_with(std::optional<int>& file) {
  const std::string path = memory_.text(text_at_);
  while (file) {
    Stop stop = run_until(Stop::kSystemCall);  // Its entry, and then its exit.
    if (stop == Stop::kSystemCall) stop = run_until(Stop::kSystemCall);
    if (stop != Stop::kSystemCall) return stop;
    user_regs_struct now{};
    if (!machine::get(tid_, now)) return Stop::kLost;
    const Address name = machine::opened_path(now);
    if (name == 0 || memory_.text(name) != path) continue;
    if (static_cast<long>(machine::result(now)) >= 0) break;
    machine::set_result(now, static_cast<std::uint64_t>(*file));
    if (!set_registers(now)) return Stop::kLost;
    file.reset();
  }
  return run_until(Stop::kReturned);
}

user_regs_struct BorrowedThread::for_system_call(Address at, long number,
                                                 std::initializer_list<Address> arguments) const {
  user_regs_struct call = saved_;
  std::array<Address, 6> values{};
  std::copy(arguments.begin(), arguments.end(), values.begin());
  machine::prepare_system_call(call, at, number, values);
  return call;
}

Address BorrowedThread::stack_top() const { return stack_ + kGuardBytes + kStackBytes - 64; }

/// Writes the address that calls return to: 0, which faults.
bool BorrowedThread::write_return_address() {
  const Address zero = 0;
  return memory_.write(stack_top() - sizeof zero, &zero, sizeof zero);
}

// Needs no stack: stops at the call's entry and exit.
std::optional<long> BorrowedThread::system_call_by_stops(long number,
                                                         std::initializer_list<Address> arguments) {
  return run_call(for_system_call(places_.syscall_instruction, number, arguments));
}

std::optional<long> BorrowedThread::run_call(user_regs_struct call) {
  if (is_lost_ || !set_registers(call) || run_until(Stop::kSystemCall) != Stop::kSystemCall ||
      run_until(Stop::kSystemCall) != Stop::kSystemCall || !machine::get(tid_, call)) {
    is_lost_ = true;
    return std::nullopt;
  }
  return static_cast<long>(machine::result(call));
}

std::optional<long> BorrowedThread::system_call(long number,
                                                std::initializer_list<Address> arguments) {
  if (places_.syscall_and_return == 0) return system_call_by_stops(number, arguments);
  user_regs_struct call = for_system_call(places_.syscall_and_return, number, arguments);
  machine::return_to_zero(call, stack_top());
  if (is_lost_ || !write_return_address() || !set_registers(call) ||
      run_until(Stop::kReturned) != Stop::kReturned || !machine::get(tid_, call)) {
    is_lost_ = true;
    return std::nullopt;
  }
  return static_cast<long>(machine::result(call));
}

base::Outcome<std::uint64_t> BorrowedThread::call(Address function,
                                                  std::initializer_list<Address> arguments,
                                                  std::optional<int>* file) {
  user_regs_struct call = saved_;
  std::array<Address, 3> values{};
  std::copy(arguments.begin(), arguments.end(), values.begin());
  machine::prepare_call(call, function, stack_top(), values);
  if (is_lost_ || !write_return_address() || !set_registers(call)) {
    return base::Failure{"the thread ended in the meantime"};
  }
  const Stop stop = file == nullptr ? run_until(Stop::kReturned) : run_with(*file);
  if (stop == Stop::kReturned && machine::get(tid_, call)) return machine::result(call);
  is_lost_ = stop == Stop::kLost;
  is_abandoned_ = stop != Stop::kLost;
  return base::Failure{stop == Stop::kTooLong
                           ? "another thread is loading a library and does not finish"
                       : stop == Stop::kFault ? "a call in it faulted"
                                              : "it ended in the meantime"};
}

std::optional<Address> BorrowedThread::place_text(const std::string& text) {
  if (text.size() >= kTextBytes || !memory_.write(text_at_, text.c_str(), text.size() + 1)) {
    return std::nullopt;
  }
  return text_at_;
}

bool BorrowedThread::write_to(int fd, const std::string& bytes) {
  const Address buffer =
      text_at_ + kTextBytes;  // The far end of the stack, which calls do not reach.
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t size = std::min(bytes.size() - done, kPieceBytes);
    if (!memory_.write(buffer, bytes.data() + done, size)) return false;
    const auto written = system_call(SYS_write, {static_cast<Address>(fd), buffer, size});
    if (!written || *written <= 0) return false;
    done += static_cast<std::size_t>(*written);
  }
  return true;
}

// A child by clone() would stay in the process as a zombie, and belong to it. So it has a helper
// for a moment that shares its memory and makes the copy; when the helper ends, the copy is an
// orphan. Neither runs in user mode, or only if we are killed before we could say that they end
// with us: then the helper returns to _exit().
//
// Both share the descriptors: what the process closes meanwhile is closed, and no lock is given up
// when they end.
base::Outcome<pid_t> BorrowedThread::copy_memory(Address exit) {
  constexpr Address kHelpersStack = 1024;  // Below ours.
  const Address stack = stack_top() - kHelpersStack;
  if (places_.syscall_and_return == 0 || exit == 0 || !memory_.write(stack, &exit, sizeof exit)) {
    return base::Failure{"its C library is not understood"};
  }
  user_regs_struct call = for_system_call(places_.syscall_and_return, SYS_clone,
                                          {CLONE_VM | CLONE_FILES, stack, 0, 0, 0});
  machine::set_link(call, exit);
  cloned_ = 0;
  if (!set_options(tid_, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE)) {
    return base::Failure{"it ended in the meantime"};
  }
  const auto number = run_call(call);
  const pid_t helper = std::exchange(cloned_, 0);
  static_cast<void>(set_options(tid_, PTRACE_O_TRACESYSGOOD));
  if (!number) return base::Failure{"it ended in the meantime"};
  if (*number < 0) {
    return base::Failure{fmt::format("clone: {}", std::strerror(static_cast<int>(-*number)))};
  }
  if (helper <= 0) return base::Failure{"its helper is not known"};
  // That takes a while: meanwhile the thread is as it was, and goes on as it was if we are killed.
  static_cast<void>(set_registers(saved_));
  set_mask(mask_);
  auto copy = copy_by(helper);
  set_mask(~kFaults);
  int status = 0;
  kill(helper, SIGKILL);
  static_cast<void>(wait_for_stop(helper, Clock::now() + kLongestStop, status));
  const auto reaped =
      system_call_by_stops(SYS_wait4, {static_cast<Address>(*number), 0, __WALL, 0});
  if (reaped == number || !copy.has_value()) return copy;
  kill(copy.value(), SIGKILL);
  return base::Failure{"its helper did not end"};
}

/// By the helper, which then has another child.
base::Outcome<pid_t> BorrowedThread::copy_by(pid_t helper) {
  constexpr std::chrono::seconds kLongestCopy{30};  // Of page tables; the memory itself is shared.
  const auto deadline = Clock::now() + kLongestCopy;
  int status = 0;
  user_regs_struct call{};
  const auto failure = [] {
    return base::Failure{fmt::format("its memory cannot be copied: {}", std::strerror(errno))};
  };
  if (wait_for_stop(helper, deadline, status) != 0 || !machine::get(helper, call)) {
    return failure();
  }
  // The copy has the same options from its beginning.
  if (!set_options(helper, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)) return failure();
  machine::prepare_system_call(call, places_.syscall_and_return, SYS_clone, {CLONE_FILES});
  const bool runs = machine::set(helper, call) &&
                    ptrace(PTRACE_SYSCALL, helper, nullptr, nullptr) == 0 &&
                    wait_for_stop(helper, deadline, status) == 0 &&  // At the entry.
                    ptrace(PTRACE_SYSCALL, helper, nullptr, nullptr) == 0 &&
                    wait_for_stop(helper, deadline, status) == 0;
  if (!runs) return failure();
  if (!is_clone(status)) {  // The exit.
    if (machine::get(helper, call))
      errno = static_cast<int>(-static_cast<long>(machine::result(call)));
    return failure();
  }
  const pid_t copy = cloned_by(helper);
  if (copy > 0 && wait_for_stop(copy, deadline, status) == 0) return copy;
  if (copy > 0) kill(copy, SIGKILL);
  return failure();
}

// Some calls do not continue by themselves after the thread ran elsewhere. Any stop ends epoll_wait
// with EINTR: without a timeout it can be repeated, unless a signal is pending, which EINTR is to
// report.
void BorrowedThread::go_on_waiting() {
  if (is_borrowed_ && machine::has_rest(saved_, before_)) machine::wait_for_rest(saved_);
  if (!machine::has_ended_wait(saved_, before_)) return;
  const std::uint64_t waiting =
      status_mask(pid_, tid_, "SigPnd") | status_mask(pid_, tid_, "ShdPnd");
  const std::uint64_t blocked = is_borrowed_ ? mask_ : status_mask(pid_, tid_, "SigBlk");
  if ((waiting & ~blocked) != 0) return;
  machine::repeat_wait(saved_, before_);
}

void BorrowedThread::restore_registers() {
  if (is_borrowed_) {
    iovec area{extended_.data(), extended_.size()};
    ptrace(PTRACE_SETREGSET, tid_, reinterpret_cast<void*>(extended_kind_), &area);
    set_mask(mask_);
  }
  go_on_waiting();
  static_cast<void>(set_registers(saved_));
}

/// What calls have left on it would look like pointers of the program.
void BorrowedThread::clear_stack() {
  if (!keeps_stack_) {
    static_cast<void>(system_call_by_stops(SYS_munmap, {stack_, kGuardBytes + kStackBytes}));
    return;
  }
  static_cast<void>(system_call_by_stops(
      SYS_mmap,
      {stack_ + kGuardBytes, kStackBytes, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, static_cast<Address>(-1), 0}));
}

void BorrowedThread::release() {
  if (!is_seized_) return;
  is_seized_ = false;
  if (!is_lost_) {
    if (restores_action_ && memory_.write(text_at_, &fault_action_, sizeof fault_action_)) {
      static_cast<void>(system_call_by_stops(SYS_rt_sigaction, {SIGSEGV, text_at_, 0, 8}));
    }
    // An abandoned call may have stored an address on its stack.
    if (stack_ != 0 && !is_abandoned_) clear_stack();
    if (errno_at_ != 0) static_cast<void>(memory_.write(errno_at_, &errno_, sizeof errno_));
    if (!is_lost_) restore_registers();
  }
  ptrace(PTRACE_DETACH, tid_, nullptr, nullptr);
  stopped_for_ = Clock::now() - stopped_;
  for (const int signal : kept_signals_) {
    if (signal == SIGSTOP || signal == SIGTSTP) {
      kill(pid_, signal);
    } else {
      syscall(SYS_tgkill, pid_, tid_, signal);
    }
  }
}

}  // namespace geiger::inject
