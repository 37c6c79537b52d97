// AArch64. See machine.h. Compiled; only an earlier version has run, under an emulated kernel:
// never on a processor, and never with SVE.
#pragma once

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <linux/futex.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <string_view>

namespace geiger::inject::machine {

using Registers = user_regs_struct;

/// The first contains the second.
inline constexpr std::array kExtended{NT_ARM_SVE, NT_PRFPREG};
inline constexpr std::size_t kInstructionBytes = 4;
inline constexpr std::string_view kSystemCall{"\x01\x00\x00\xd4", 4};
inline constexpr std::string_view kSystemCallAndReturn{"\x01\x00\x00\xd4\xc0\x03\x5f\xd6", 8};

inline constexpr std::size_t kNumber = 8;
inline constexpr std::size_t kFramePointer = 29;
inline constexpr std::size_t kLink = 30;

inline bool get(pid_t tid, Registers& registers) {
  iovec area{&registers, sizeof registers};
  return ptrace(PTRACE_GETREGSET, tid, reinterpret_cast<void*>(NT_PRSTATUS), &area) == 0 &&
         area.iov_len == sizeof registers;
}
inline bool set(pid_t tid, const Registers& registers) {
  Registers copy = registers;
  iovec area{&copy, sizeof copy};
  return ptrace(PTRACE_SETREGSET, tid, reinterpret_cast<void*>(NT_PRSTATUS), &area) == 0;
}

inline std::uint64_t pc(const Registers& registers) { return registers.pc; }
inline std::uint64_t sp(const Registers& registers) { return registers.sp; }
inline std::uint64_t result(const Registers& registers) { return registers.regs[0]; }
inline void set_result(Registers& registers, std::uint64_t value) { registers.regs[0] = value; }
inline bool is_64_bit(const Registers& registers) {
  constexpr std::uint64_t k32Bit = 0x10;
  return (registers.pstate & k32Bit) == 0;
}

/// The kernel has already gone back to the instruction and restored its first argument: a changed
/// pc suffices to cancel the call.
inline long interrupted_call(const Registers& registers) {
  return static_cast<long>(registers.regs[kNumber]);
}
inline std::uint64_t first_argument(const Registers& registers) { return registers.regs[0]; }
inline std::uint64_t opened_path(const Registers& registers) {
  return interrupted_call(registers) == SYS_openat ? registers.regs[1] : 0;
}

inline void prepare_system_call(Registers& registers, std::uint64_t at, long number,
                                const std::array<std::uint64_t, 6>& values) {
  std::copy(values.begin(), values.end(), std::begin(registers.regs));
  registers.regs[kNumber] = static_cast<std::uint64_t>(number);
  registers.pc = at;
}

inline void return_to_zero(Registers& registers, std::uint64_t top) {
  registers.sp = top;
  registers.regs[kLink] = 0;
}

/// What a function called at this point would return to.
inline void set_link(Registers& registers, std::uint64_t address) {
  registers.regs[kLink] = address;
}

inline void prepare_call(Registers& registers, std::uint64_t function, std::uint64_t top,
                         const std::array<std::uint64_t, 3>& values) {
  constexpr std::uint64_t kKindOfBranch = 0xc00;  // BTYPE, which functions check on entry.
  return_to_zero(registers, top);
  std::copy(values.begin(), values.end(), std::begin(registers.regs));
  registers.regs[kFramePointer] = 0;
  registers.pc = function;
  registers.pstate &= ~kKindOfBranch;
}

/// Whether the thread was stopped in this call: it still has the call's number and stack pointer.
inline bool is_in(const Registers& registers, const WaitingCall& call) {
  return call.number == interrupted_call(registers) && call.sp == registers.sp;
}

/// The result has replaced the first argument.
inline bool has_ended_wait(const Registers& registers, const WaitingCall& before) {
  const auto timeout = static_cast<std::int32_t>(before.arguments[3]);
  return is_in(registers, before) && before.number == SYS_epoll_pwait && timeout < 0 &&
         registers.pc == before.pc && static_cast<long>(registers.regs[0]) == -EINTR;
}
inline void repeat_wait(Registers& registers, const WaitingCall& before) {
  registers.regs[0] = before.arguments[0];
  registers.pc -= kInstructionBytes;
}

/// The kernel has gone back to the instruction, and would have restarted the call with the time
/// left if the thread had not run elsewhere.
inline bool has_rest(const Registers& registers, const WaitingCall& before) {
  constexpr std::uint64_t kOperation = 0x7f;
  const auto& arguments = before.arguments;
  const bool is_relative =
      before.number == SYS_nanosleep ||
      (before.number == SYS_clock_nanosleep && (arguments[1] & TIMER_ABSTIME) == 0) ||
      (before.number == SYS_futex && (arguments[1] & kOperation) == FUTEX_WAIT &&
       arguments[3] != 0);
  return is_relative && is_in(registers, before) && registers.pc + kInstructionBytes == before.pc &&
         registers.regs[0] == arguments[0];
}
inline void wait_for_rest(Registers& registers) { registers.regs[kNumber] = SYS_restart_syscall; }

/// Calls that any stop ends by EINTR, besides those of every processor.
inline bool notices_stops(long /*call*/) { return false; }

inline bool for_unwinder(Dwfl_Thread* thread, const Registers& registers) {
  std::array<Dwarf_Word, 32> words{};
  std::copy(std::begin(registers.regs), std::end(registers.regs), words.begin());
  words[31] = registers.sp;
  dwfl_thread_state_register_pc(thread, registers.pc);
  return dwfl_thread_state_registers(thread, 0, words.size(), words.data());
}

}  // namespace geiger::inject::machine
