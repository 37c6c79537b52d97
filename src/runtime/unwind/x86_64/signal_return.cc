// The return from signals of C libraries without tables, such as musl: recognised by its
// instructions.
#include <ucontext.h>

#include <cstddef>
#include <cstring>

#include "runtime/unwind/cfi.h"
#include "runtime/unwind/stack_memory.h"

namespace geiger::unwind::machine {
namespace {

// mov $15, %rax, or %eax; syscall
constexpr std::uint8_t kReturnFromSignal[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
constexpr std::uint8_t kShortReturnFromSignal[] = {0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

/// Return addresses may be unreadable: execute-only code, garbage.
bool is_return_from_signal(std::uint64_t at) {
  if (!is_readable(at) || !is_readable(at + sizeof kReturnFromSignal - 1)) return false;
  const auto* const code = reinterpret_cast<const void*>(at);
  return std::memcmp(code, kReturnFromSignal, sizeof kReturnFromSignal) == 0 ||
         std::memcmp(code, kShortReturnFromSignal, sizeof kShortReturnFromSignal) == 0;
}

/// At the stack pointer is the context, a part of the kernel's interface.
std::int32_t offset_of(int number) {
  return static_cast<std::int32_t>(offsetof(ucontext_t, uc_mcontext.gregs)) +
         number * static_cast<std::int32_t>(sizeof(greg_t));
}

}  // namespace

bool find_signal_return(std::uint64_t pc, bool is_in_module, FoundRow& found) {
  if (!is_in_module || !is_return_from_signal(pc + 1)) return false;
  found = FoundRow{};
  found.is_signal_frame = true;
  found.row.cfa = Term{dwarf::kStackPointer, true, offset_of(REG_RSP), 0};
  const auto put = [&found](Slot slot, int number) {
    found.row[slot] = Place{Place::Kind::kAt, dwarf::kStackPointer, offset_of(number)};
  };
  put(Slot::kRbx, REG_RBX);
  put(Slot::kFramePointer, REG_RBP);
  for (int i = 0; i < 4; ++i) put(slot_of(dwarf::kR12 + static_cast<unsigned>(i)), REG_R12 + i);
  put(Slot::kReturnAddress, REG_RIP);
  return true;
}

}  // namespace geiger::unwind::machine
