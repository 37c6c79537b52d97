// The kernel's return from signals. It deliberately has no table, so we recognise it by its
// instructions.
#include <errno.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "runtime/unwind/cfi.h"
#include "runtime/unwind/stack_memory.h"

namespace geiger::unwind::machine {
namespace {

constexpr std::uint32_t kMovX8ReturnFromSignal = 0xd2801168;
constexpr std::uint32_t kSystemCall = 0xd4000001;
static_assert(SYS_rt_sigreturn == 139);

/// Return addresses may be unreadable: execute-only code, garbage.
bool is_return_from_signal(std::uint64_t at) {
  constexpr std::uint64_t kWordsOfCode = 8;
  if (at % 4 != 0 || !is_readable(at) || !is_readable(at + kWordsOfCode - 1)) return false;
  std::uint32_t words[2];
  __builtin_memcpy(words, reinterpret_cast<const void*>(at), sizeof words);
  return words[0] == kMovX8ReturnFromSignal && words[1] == kSystemCall;
}

/// A kernel has the code in its vDSO, which the loader may not list; some emulators have no vDSO
/// and put it anywhere. Other code outside of modules is generated at run time, and a walk may
/// contain many such frames, each of which would cost a system call.
bool may_be_outside(std::uint64_t at) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 16;
  const int before = errno;
  const std::uint64_t vdso = getauxval(AT_SYSINFO_EHDR);  // May set errno.
  errno = before;
  return vdso == 0 || at - vdso < kMostBytes;
}

/// At the stack pointer: siginfo (128 bytes), ucontext up to its registers (176), the address of a
/// fault (8), then x0 to x30, sp, pc. Part of the kernel's interface.
void describe(FoundRow& found) {
  constexpr std::int32_t kRegisters = 128 + 176 + 8;
  constexpr std::int32_t kLink = 30;
  constexpr std::int32_t kStackPointer = 31;
  constexpr std::int32_t kPc = 32;
  constexpr std::int32_t kWord = 8;
  found = FoundRow{};
  found.is_signal_frame = true;
  found.row.cfa = Term{dwarf::kStackPointer, true, kRegisters + kStackPointer * kWord, 0};
  const auto put = [&found](Slot slot, std::int32_t number) {
    found.row[slot] = Place{Place::Kind::kAt, dwarf::kStackPointer, kRegisters + number * kWord};
  };
  for (std::int32_t number = dwarf::kX19; number <= dwarf::kFramePointer; ++number) {
    put(slot_of(static_cast<std::uint64_t>(number)), number);
  }
  put(Slot::kLink, kLink);
  put(Slot::kReturnAddress, kPc);
}

}  // namespace

bool find_signal_return(std::uint64_t pc, bool is_in_module, FoundRow& found) {
  const std::uint64_t at = pc + 1;
  if ((!is_in_module && !may_be_outside(at)) || !is_return_from_signal(at)) return false;
  describe(found);
  return true;
}

}  // namespace geiger::unwind::machine
