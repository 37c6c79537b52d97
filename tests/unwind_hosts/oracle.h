// What libgcc's unwinder says about the same stack, in our form.
//
// Normalisation, the whole of it: libgcc reports the frames below `first` too
// (cut), and ends with an ip of 0 when the outermost frame has an undefined return
// address (cut). It reports an interrupted ip as it is where ours records ip + 1
// (added). All other frames, those of _start and clone3 included, stay. On AArch64 the linker's
// stubs have no tables: there libgcc ends, and what ours has behind them is cut.
#pragma once

#include <unistd.h>
#include <unwind.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/unwind/unwind.h"

extern "C" void* __libc_stack_end;  // NOLINT: the loader's name.

namespace geiger::unwind {

inline constexpr std::size_t kOracleFrames = 1024;

struct Chain {
  std::uint64_t frames[kOracleFrames];
  std::size_t count;
  bool truncated;  ///< Only ours says so.

  [[nodiscard]] bool operator==(const Chain& other) const {
    return count == other.count && std::memcmp(frames, other.frames, count * sizeof frames[0]) == 0;
  }
};

inline _Unwind_Reason_Code append_frame(_Unwind_Context* context, void* argument) {
  auto& chain = *static_cast<Chain*>(argument);
  if (chain.count == kOracleFrames) return _URC_END_OF_STACK;
  int is_before_instruction = 0;
  const std::uint64_t ip = _Unwind_GetIPInfo(context, &is_before_instruction);
  chain.frames[chain.count++] = ip + (is_before_instruction != 0 ? 1 : 0);
  return _URC_NO_REASON;
}

/// From the frame that returns to `first` upwards.
inline void ask_libgcc(std::uint64_t first, Chain& chain) {
  chain.count = 0;
  _Unwind_Backtrace(append_frame, &chain);
  std::size_t skipped = 0;
  while (skipped < chain.count && chain.frames[skipped] != first) ++skipped;
  chain.count -= skipped;
  std::memmove(chain.frames, chain.frames + skipped, chain.count * sizeof first);
  while (chain.count > 0 && chain.frames[chain.count - 1] <= 1) --chain.count;
}

#if defined(__aarch64__)
extern "C" const void* _Unwind_Find_FDE(void* pc, void* bases);  // NOLINT: libgcc's name.

/// Ends `own` where libgcc ended for want of a table.
inline void cut_behind_stub(Chain& own, const Chain& libgcc) {
  if (libgcc.count == 0 || own.count <= libgcc.count) return;
  const std::uint64_t last = libgcc.frames[libgcc.count - 1];
  void* bases[3];
  if (own.frames[libgcc.count - 1] == last &&
      _Unwind_Find_FDE(reinterpret_cast<void*>(last - 1), bases) == nullptr) {
    own.count = libgcc.count;
  }
}
#else
inline void cut_behind_stub(Chain& /*own*/, const Chain& /*libgcc*/) {}
#endif

/// Exact for threads and the main stack; wrong on alternate stacks and fibers.
inline StackBounds bounds_here(std::uint64_t sp) {
  const auto thread_pointer = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  const bool is_main = gettid() == getpid();
  return {sp, is_main ? reinterpret_cast<std::uint64_t>(__libc_stack_end) : thread_pointer};
}

inline std::uint64_t walk_into(const Registers& start, const StackBounds& bounds, Chain& chain) {
  Trace trace{chain.frames, kOracleFrames};
  walk(start, bounds, Mode::kAuto, trace);
  chain.count = trace.count;
  chain.truncated = trace.truncated;
  return trace.hash;
}

}  // namespace geiger::unwind
