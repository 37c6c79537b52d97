// x86-64. See machine.h.
#pragma once

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace geiger::inject::machine {

using Registers = user_regs_struct;

inline constexpr std::array kExtended{NT_X86_XSTATE};
inline constexpr std::size_t kInstructionBytes = 1;
inline constexpr std::string_view kSystemCall{"\x0f\x05", 2};
inline constexpr std::string_view kSystemCallAndReturn{"\x0f\x05\xc3", 3};

inline bool get(pid_t tid, Registers& registers) {
  return ptrace(PTRACE_GETREGS, tid, nullptr, &registers) == 0;
}
inline bool set(pid_t tid, const Registers& registers) {
  return ptrace(PTRACE_SETREGS, tid, nullptr, &registers) == 0;
}

inline std::uint64_t pc(const Registers& registers) { return registers.rip; }
inline std::uint64_t sp(const Registers& registers) { return registers.rsp; }
inline std::uint64_t result(const Registers& registers) { return registers.rax; }
inline void set_result(Registers& registers, std::uint64_t value) { registers.rax = value; }
inline bool is_64_bit(const Registers& registers) {
  constexpr unsigned kCode64 = 0x33;
  return registers.cs == kCode64;
}
inline long interrupted_call(const Registers& registers) {
  return static_cast<long>(registers.orig_rax);
}
inline std::uint64_t first_argument(const Registers& registers) { return registers.rdi; }
inline std::uint64_t opened_path(const Registers& registers) {
  const long call = interrupted_call(registers);
  return call == SYS_openat ? registers.rsi : call == SYS_open ? registers.rdi : 0;
}

/// Marks the thread as in no system call, so that none is restarted.
inline void forget_call(Registers& registers) {
  registers.orig_rax = static_cast<std::uint64_t>(-1);
}

inline void prepare_system_call(Registers& registers, std::uint64_t at, long number,
                                const std::array<std::uint64_t, 6>& values) {
  registers.rax = static_cast<std::uint64_t>(number);
  forget_call(registers);
  registers.rip = at;
  registers.rdi = values[0];
  registers.rsi = values[1];
  registers.rdx = values[2];
  registers.r10 = values[3];
  registers.r8 = values[4];
  registers.r9 = values[5];
}

inline void return_to_zero(Registers& registers, std::uint64_t top) { registers.rsp = top - 8; }

/// What a function called at this point would return to; here it is on the stack.
inline void set_link(Registers& /*registers*/, std::uint64_t /*address*/) {}

inline void prepare_call(Registers& registers, std::uint64_t function, std::uint64_t top,
                         const std::array<std::uint64_t, 3>& values) {
  constexpr std::uint64_t kDirection = 0x400;
  return_to_zero(registers, top);
  registers.rbp = 0;
  registers.rip = function;
  registers.rax = 0;
  forget_call(registers);
  registers.eflags &= ~kDirection;
  registers.rdi = values[0];
  registers.rsi = values[1];
  registers.rdx = values[2];
}

/// Whether the stop ended an epoll_wait() without a timeout, by EINTR.
inline bool has_ended_wait(const Registers& registers, const WaitingCall& /*before*/) {
  const auto timeout = static_cast<std::int32_t>(registers.r10);
  const long call = interrupted_call(registers);
  return (call == SYS_epoll_wait || call == SYS_epoll_pwait) && timeout < 0 &&
         static_cast<long>(registers.rax) == -EINTR;
}
inline void repeat_wait(Registers& registers, const WaitingCall& /*before*/) {
  constexpr std::uint64_t kSystemCallBytes = 2;
  registers.rax = registers.orig_rax;
  forget_call(registers);
  registers.rip -= kSystemCallBytes;
}

/// The kernel restarts such a call itself, by orig_rax and rax.
inline bool has_rest(const Registers& /*registers*/, const WaitingCall& /*before*/) {
  return false;
}
inline void wait_for_rest(Registers& /*registers*/) {}

/// Calls that any stop ends by EINTR, besides those of every processor.
inline bool notices_stops(long call) { return call == SYS_epoll_wait; }

inline bool for_unwinder(Dwfl_Thread* thread, const Registers& r) {
  const std::array<Dwarf_Word, 17> words{r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi,
                                         r.rbp, r.rsp, r.r8,  r.r9,  r.r10, r.r11,
                                         r.r12, r.r13, r.r14, r.r15, r.rip};
  return dwfl_thread_state_registers(thread, 0, words.size(), words.data());
}

}  // namespace geiger::inject::machine
