// A thread of another process that runs calls of ours for a moment and then continues as if nothing
// had happened: all registers with their extended state, errno, the signal mask, and the system
// call that it was in are restored.
//
//   seize    PTRACE_SEIZE, PTRACE_INTERRUPT; other threads run on
//   borrow   signals blocked (they wait, and are delivered afterwards), a private stack
//   call     to a function that returns to address 0, where the fault is caught
//   release  restores everything and detaches; never leaves a thread stopped
//
// To a thread in a system call this is a stop by any debugger: the kernel restarts the calls that
// it can restart; epoll_wait without a timeout, which it does not restart, is repeated.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/outcome.h"
#include "inject/machine.h"
#include "inject/remote_modules.h"

namespace geiger::inject {

/// Addresses that calls in a borrowed thread need.
struct CallPlaces {
  Address syscall_instruction = 0;  ///< Any two bytes 0f 05 in executable memory.
  Address syscall_and_return = 0;   ///< 0f 05 c3, 0 = none: one stop, not two.
  Address errno_location = 0;       ///< __errno_location.
  Address loader_begin = 0;         ///< _rtld_global: the loader's locks.
  Address loader_end = 0;
};

class BorrowedThread {
 public:
  BorrowedThread(pid_t pid, pid_t tid) : pid_(pid), tid_(tid), memory_(pid) {}
  ~BorrowedThread() { release(); }
  BorrowedThread(const BorrowedThread&) = delete;
  BorrowedThread& operator=(const BorrowedThread&) = delete;

  /// Stops the thread. 0 or an errno: ESRCH if it has ended, ETIMEDOUT if it does not stop.
  [[nodiscard]] int seize();
  [[nodiscard]] pid_t tid() const { return tid_; }
  [[nodiscard]] const user_regs_struct& registers() const { return saved_; }
  /// Whether it is in a restartable sequence, whose abort it would miss.
  [[nodiscard]] bool is_in_sequence() const;

  /// Prepares for calls. `stack`: one that keep_stack() returned earlier, for functions that leave
  /// errno unchanged; 0: a new one, for any.
  [[nodiscard]] base::Outcome<void> borrow(const CallPlaces& places, Address stack);
  /// Keeps the stack for later; returns its address.
  [[nodiscard]] Address keep_stack();
  /// A system call's result, -errno on failure; nothing: the thread was lost.
  [[nodiscard]] std::optional<long> system_call(long number, std::initializer_list<Address> = {});
  /// A function's result. `file`: a descriptor of the process that its first open() of the placed
  /// text gets if the text leads nowhere; it is the function's then, and `file` is reset.
  [[nodiscard]] base::Outcome<std::uint64_t> call(Address function,
                                                  std::initializer_list<Address> arguments,
                                                  std::optional<int>* file = nullptr);
  /// Copies a text into the process, to use it as an argument; nothing if it does not fit.
  [[nodiscard]] std::optional<Address> place_text(const std::string& text);
  /// Has the thread write bytes to its descriptor; false if it cannot. We do not: whatever the
  /// process made of the descriptor meanwhile, it can only write there what it may write itself.
  [[nodiscard]] bool write_to(int fd, const std::string& bytes);

  /// Makes a process with a copy of this one's memory, stopped and traced by us, that has not run
  /// and never will: once it runs, or we end, it is killed. Nothing of it is left to this process:
  /// neither a child nor a signal. `exit` is _exit(); a stack that keep_stack() returned will do.
  [[nodiscard]] base::Outcome<pid_t> copy_memory(Address exit);

  /// Restores everything and detaches.
  void release();
  [[nodiscard]] std::chrono::nanoseconds stopped_for() const { return stopped_for_; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Stop { kReturned, kSystemCall, kLost, kFault, kTooLong };

  [[nodiscard]] int wait_for_stop(Clock::time_point deadline, int& status) {
    return wait_for_stop(tid_, deadline, status);
  }
  [[nodiscard]] static int wait_for_stop(pid_t tid, Clock::time_point deadline, int& status);
  [[nodiscard]] bool resume(int request, int signal = 0) const;
  [[nodiscard]] Stop run_until(Stop wanted);
  [[nodiscard]] Stop run_with(std::optional<int>& file);
  [[nodiscard]] bool took_signal(int signal);
  [[nodiscard]] bool set_registers(const user_regs_struct& registers) const;
  [[nodiscard]] bool can_abandon(int request);
  [[nodiscard]] base::Outcome<void> make_stack();
  [[nodiscard]] std::optional<long> system_call_by_stops(long number,
                                                         std::initializer_list<Address> arguments);
  [[nodiscard]] std::optional<long> run_call(user_regs_struct call);
  [[nodiscard]] base::Outcome<pid_t> copy_by(pid_t helper);
  bool set_mask(std::uint64_t mask) const;
  [[nodiscard]] bool save_extended();
  [[nodiscard]] Address stack_top() const;  ///< A multiple of 16.
  [[nodiscard]] bool write_return_address();
  /// The registers for a call by the instruction at `at`.
  [[nodiscard]] user_regs_struct for_system_call(Address at, long number,
                                                 std::initializer_list<Address> arguments) const;
  void save_fault_action();
  void clear_stack();
  void restore_registers();
  void go_on_waiting();

  pid_t pid_, tid_;
  RemoteMemory memory_;
  CallPlaces places_;
  bool is_seized_ = false, is_borrowed_ = false, is_lost_ = false, is_abandoned_ = false;
  bool keeps_stack_ = false;
  user_regs_struct saved_{};
  WaitingCall before_;  ///< The call in which it waited before the stop.
  std::vector<char> extended_;
  int extended_kind_ = 0;
  std::uint64_t mask_ = 0;
  Address stack_ = 0, text_at_ = 0, errno_at_ = 0;
  int errno_ = 0;
  pid_t cloned_ = 0;  ///< The latest process that the thread has made.
  std::array<std::uint64_t, 4> fault_action_{};
  bool restores_action_ = false;
  std::vector<int> kept_signals_;
  Clock::time_point stopped_{};
  std::chrono::nanoseconds stopped_for_{0};
};

}  // namespace geiger::inject
