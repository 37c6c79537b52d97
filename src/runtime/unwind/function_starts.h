// Where functions of code without tables begin, as far as calls and pointers say.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/unwind/modules.h"
#include "runtime/unwind/stack_memory.h"

namespace geiger::unwind {

/// The functions of one module that were called by their address, by the words of a stack.
class CalledFunctions {
 public:
  CalledFunctions(const ByteRange& code, std::uint64_t sp, const StackMemory& stack)
      : code_(code), at_(sp), end_(sp + kMostBytes), stack_(stack) {}

  /// False: no other.
  bool next(std::uint64_t& function);

 private:
  static constexpr std::uint64_t kMostBytes = 8192;
  static constexpr std::size_t kMostFunctions = 8;

  bool add(std::uint64_t function);

  ByteRange code_;
  std::uint64_t at_;
  std::uint64_t end_;
  StackMemory stack_;  // Of its own, as reads ahead move the window.
  std::size_t count_ = 0;
  std::uint64_t functions_[kMostFunctions];
};

/// The last address before `pc` that a pointer in the module's data has, or that an instruction
/// near its entry point or near `pc` takes. 0: none. It may be that of a label.
[[nodiscard]] std::uint64_t last_address_taken(const FoundModule& module, std::uint64_t pc);

}  // namespace geiger::unwind
